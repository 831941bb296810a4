//! Why a command stopped, and what it says and returns then.

use std::fmt;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use miette::{MietteHandlerOpts, Report};
use slotcast_lab::InputError;
use slotcast_report::WriteFailed;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is wrong.
    Input(Box<InputError>),
    /// A file or stream failed; the text says which.
    Output(String, io::Error),
}

/// What a command returns: its exit status, or why there is none.
pub(crate) type Outcome = Result<ExitCode, Failure>;

impl From<Box<InputError>> for Failure {
    fn from(error: Box<InputError>) -> Failure {
        Failure::Input(error)
    }
}

impl From<WriteFailed> for Failure {
    fn from(WriteFailed { path, error }: WriteFailed) -> Failure {
        Failure::Output(format!("`{}`", path.display()), error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(error) => error.fmt(f),
            Failure::Output(place, error) => write!(f, "cannot write {place}: {error}"),
        }
    }
}

/// Says why on stderr, and gives the exit status.
pub(crate) fn report(failure: Failure) -> ExitCode {
    match failure {
        // Whoever reads us has seen enough: `slotcast sim --list | head`.
        Failure::Output(_, error) if error.kind() == io::ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        Failure::Output(..) => eprintln!("Error: {failure}"),
        Failure::Input(error) => {
            // This is the only hook, and it is set once: a program reports one failure and ends.
            let _ = miette::set_hook(Box::new(|_| {
                let options = MietteHandlerOpts::new().context_lines(1);
                // In a log every message stays on one line, so that it can be searched for.
                let options =
                    if io::stderr().is_terminal() { options } else { options.width(1000) };
                Box::new(options.build())
            }));
            eprintln!("{:?}", Report::new(*error));
        }
    }
    ExitCode::from(2)
}
