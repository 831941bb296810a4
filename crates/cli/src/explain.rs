//! `slotcast explain`.

use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_lab::setting::{self, Kind, Setting};

use crate::failure::Outcome;
use crate::list;
use crate::output::print;

/// Explain one setting: unit, range, default and where that comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast explain replicast.bid_multiplier
  slotcast explain disk                        every key of a section
  slotcast sim --list                          every key there is")]
pub(crate) struct Arguments {
    /// A key such as `disk.rate`, or a section such as `disk`
    key: String,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let key = arguments.key.as_str();
    let text = match setting::find(key) {
        Some(setting) => explained(setting),
        None => match setting::section_doc(key) {
            Some(doc) => format!("[{key}]: {doc}\n{}\n", list::keys(Some(key))),
            None => return Err(unknown(key).into()),
        },
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(key: &str) -> Box<InputError> {
    let help = match setting::nearest_key(key) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`slotcast sim --list` shows every key".into(),
    };
    InputError::plain(format!("unknown key `{key}`")).with_help(Some(help))
}

fn explained(setting: &Setting) -> String {
    let Setting { key, doc, kind, source, .. } = setting;
    let default = setting.default();
    let mut text = format!(
        "{key}\n  {doc}\n\n  kind     {}: {}\n  range    {}\n  default  {default}\n  source   {source}\n",
        kind.name(),
        kind.expected(),
        kind.range(),
    );
    if let Kind::Choice(words) = kind {
        text.push_str("\n  words\n");
        for word in *words {
            text.push_str(&format!("    {:<12} {}\n", word.word, word.doc));
        }
    }
    let quote = if kind.is_quoted() { "\"" } else { "" };
    let value = format!("{quote}{default}{quote}");
    text.push_str(&format!(
        "\n  in a file            [{}]\n                       {} = {value}\n",
        setting.section(),
        setting.name()
    ));
    if setting.can_be_swept() {
        text.push_str(&format!(
            "  swept                [[sweep]]\n                       {key} = [{value}, ...]\n"
        ));
    }
    text.push_str(&format!("  on the command line  --set {key}={default}\n"));
    text
}
