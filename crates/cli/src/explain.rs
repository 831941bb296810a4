//! `slotcast explain`.

use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_lab::setting::{Described, Kind, Settings, needed};

use crate::failure::Outcome;
use crate::list;
use crate::output::print;
use slotcast_catalogue::{model, models};

/// Explain one setting: unit, range, default and where that comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast explain replicast.bid_multiplier
  slotcast explain disk                        every key of a section
  slotcast explain --of lustre disk            every key of a section of another model
  slotcast explain --of plan                   every key of a cluster file
  slotcast sim --list                          every key of the simulated cluster")]
pub(crate) struct Arguments {
    /// A key such as `disk.rate`, or a section such as `disk`; every key of the model if not given
    #[arg(required_unless_present = "of")]
    key: Option<String>,

    /// The model that it is a key of: cluster, plan, lustre, stripes, networks; the first that has it if
    /// not given
    #[arg(long, value_name = "MODEL")]
    of: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let wanted: Vec<&dyn Settings> = match &arguments.of {
        Some(name) => vec![model(name)?],
        None => models().into(),
    };
    let Some(key) = arguments.key.as_deref() else {
        print(&format!("{}\n", list::keys(wanted[0], None)))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut texts = wanted.iter().filter_map(|settings| {
        let explained = text(*settings, key)?;
        Some((settings.model(), explained))
    });
    let (_, explained) = texts.next().ok_or_else(|| unknown(&wanted, key))?;
    print(&explained)?;
    let others: Vec<_> = texts.map(|(other, _)| other).collect();
    if !others.is_empty() {
        print(&format!("\nAlso in other models (--of): {}\n", others.join(", ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What there is to say of a key or a section of a model, if it has it.
fn text(settings: &dyn Settings, key: &str) -> Option<String> {
    let described = settings.described().into_iter().find(|setting| setting.key == key);
    described.map(|setting| explained(settings.model(), &setting)).or_else(|| {
        let doc = settings.section_doc(key)?;
        Some(format!(
            "[{key}] of {}: {doc}\n{}\n",
            settings.model(),
            list::keys(settings, Some(key))
        ))
    })
}

fn unknown(wanted: &[&dyn Settings], key: &str) -> Box<InputError> {
    let near = wanted.iter().find_map(|settings| settings.nearest_key(key));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let models: Vec<_> = wanted.iter().map(|settings| settings.model()).collect();
            format!("`slotcast explain --of {}` shows every key", models.join("|"))
        }
    };
    InputError::plain(format!("unknown key `{key}`")).with_help(Some(help))
}

fn explained(model: &str, setting: &Described) -> String {
    let Described { key, doc, kind, source, default, only, .. } = setting;
    let told = default.map_or("none of its own".into(), |value| value.to_string());
    let mut text = format!(
        "{key} of {model}\n  {doc}\n\n  kind     {}: {}\n  range    {}\n  default  {told}\n  \
         source   {source}\n",
        kind.name(),
        kind.expected(),
        kind.range(),
    );
    for (other, values) in *only {
        text.push_str(&format!("  only     with {other} {}\n", needed(values)));
    }
    if let Kind::Choice(words) | Kind::Words(words) = kind {
        text.push_str("\n  words\n");
        for word in *words {
            text.push_str(&format!("    {:<12} {}\n", word.word, word.doc));
        }
    }
    let quote = if kind.is_quoted() { "\"" } else { "" };
    let example = default.unwrap_or_else(|| kind.examples()[0]);
    let value = format!("{quote}{example}{quote}");
    let section = match setting.is_in_blocks {
        true => format!("[[{}]]", setting.section()),
        false => format!("[{}]", setting.section()),
    };
    text.push_str(&format!(
        "\n  in a file            {section}\n                       {} = {value}\n",
        setting.name()
    ));
    if setting.can_be_swept() {
        text.push_str(&format!(
            "  swept                [[sweep]]\n                       {key} = [{value}, ...]\n"
        ));
    }
    let in_shell = example.to_string();
    let quote = if in_shell.contains(' ') { "\"" } else { "" };
    text.push_str(&format!("  on the command line  --set {quote}{key}={in_shell}{quote}\n"));
    text
}
