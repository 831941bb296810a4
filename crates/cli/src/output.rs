//! Where results go: stdout for people, a file or stdout for programs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::failure::Failure;

/// Writes `text` to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stdout_failed)
}

fn stdout_failed(error: io::Error) -> Failure {
    Failure::Output("standard output".into(), error)
}

pub(crate) fn file_failed(path: &Path, error: io::Error) -> Failure {
    Failure::Output(format!("`{}`", path.display()), error)
}

/// A file, or stdout for `-`. [`Outputs`](crate::outputs::Outputs) makes one, and checks it first.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout,
    /// A file that appears when it is complete, and until then is as it was.
    File(PathBuf),
    /// A device or a pipe: bytes go into it as they come.
    Stream(PathBuf),
}

impl Destination {
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Destination::Stdout)
    }

    /// Hands the stream to `write`, and names it if that fails. A file is whole or as it was before.
    pub(crate) fn write<E>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<io::Result<()>, E>,
    ) -> Result<(), Failure>
    where
        Failure: From<E>,
    {
        match self {
            Destination::Stdout => {
                write(&mut BufWriter::new(io::stdout().lock()))?.map_err(stdout_failed)
            }
            Destination::Stream(path) => {
                let failed = |error| file_failed(path, error);
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                let mut out = BufWriter::new(file);
                write(&mut out)?.and_then(|()| out.flush()).map_err(failed)
            }
            Destination::File(path) => {
                let failed = |error| file_failed(path, error);
                let (partial, file) = Partial::beside(path).map_err(failed)?;
                let mut out = BufWriter::new(file);
                let written = write(&mut out)?.and_then(|()| out.flush());
                written.and_then(|()| partial.complete(path)).map_err(failed)
            }
        }
    }

    /// Writes `text`.
    pub(crate) fn write_text(&self, text: &str) -> Result<(), Failure> {
        self.write(|out| {
            Ok::<_, Failure>(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
        })
    }

    /// Writes `value` as indented JSON with a newline.
    pub(crate) fn write_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.write(|out| {
            let result = serde_json::to_writer_pretty(&mut *out, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
                .and_then(|()| out.flush());
            Ok::<_, Failure>(result)
        })
    }
}

/// A file under another name beside its place, until it is complete. Removed if it never is.
#[derive(Debug)]
pub(crate) struct Partial(PathBuf);

impl Partial {
    /// A new file beside `path`: no file that is there is opened, whatever its name.
    pub(crate) fn beside(path: &Path) -> io::Result<(Partial, File)> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let process = std::process::id();
        for attempt in 0.. {
            let partial = path.with_file_name(format!(".{name}.{process}-{attempt}.partial"));
            match OpenOptions::new().write(true).create_new(true).open(&partial) {
                Ok(file) => return Ok((Partial(partial), file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("a folder has fewer files than there are numbers")
    }

    /// Gives the file its name. What was there under that name is replaced at once, with its
    /// permissions kept.
    fn complete(self, path: &Path) -> io::Result<()> {
        if let Ok(before) = fs::metadata(path) {
            fs::set_permissions(&self.0, before.permissions())?;
        }
        fs::rename(&self.0, path)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Fails after a rename, as there is nothing left to remove.
        let _ = fs::remove_file(&self.0);
    }
}
