//! What is made from the commands themselves: completions for shells, and manual pages.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use slotcast_lab::InputError;

use crate::failure::{Failure, Outcome};
use crate::output::print;

const NAME: &str = "slotcast";

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(slotcast completions bash)          in this shell, or in ~/.bashrc
  slotcast completions zsh > ~/.zfunc/_slotcast
  slotcast completions fish > ~/.config/fish/completions/slotcast.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(arguments: &Completions, mut command: Command) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, NAME, &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Write manual pages, one for each command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast man --out ~/.local/share/man/man1
  man slotcast-serve

A page that is there is written anew only with --force.")]
pub(crate) struct Man {
    /// The folder for the pages; it is made if it is not there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// Also over pages that are there
    #[arg(long)]
    force: bool,
}

pub(crate) fn man(arguments: &Man, mut command: Command) -> Outcome {
    command.build();
    let folder = &arguments.out;
    let failed = |error| Failure::Output(format!("`{}`", folder.display()), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let pages = pages(&command, NAME);
    for (name, page) in &pages {
        write(&folder.join(format!("{name}.1")), page, arguments.force)?;
    }
    print(&format!("{} pages in {}\n", pages.len(), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The pages of a command and of all below it, with their names.
fn pages(command: &Command, name: &str) -> Vec<(String, Vec<u8>)> {
    let mut page = Vec::new();
    let titled = command.clone().display_name(name.to_owned());
    // A vector takes everything.
    Page::new(titled).title(name).render(&mut page).unwrap_or_default();
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let below = below.flat_map(|below| pages(below, &format!("{name}-{}", below.get_name())));
    [(name.to_owned(), page)].into_iter().chain(below).collect()
}

fn write(path: &Path, page: &[u8], force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!force).create(force).truncate(force);
    let written = options.open(path).and_then(|mut file| file.write_all(page));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            InputError::plain(format!("`{}` is there already", path.display()))
                .with_help(Some("write it anew with --force, or take another folder".into()))
                .into()
        }
        _ => Failure::Output(format!("`{}`", path.display()), error),
    })
}
