//! Where results go: stdout for people, a file or stdout for programs.

use std::fs::File;
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

/// A file, or stdout for `-`.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf, BufWriter<File>),
}

impl Destination {
    /// Opens `path` at once, so that a wrong path is found before hours of work.
    pub(crate) fn open(path: &Path) -> Result<Destination, Failure> {
        if path == Path::new("-") {
            return Ok(Destination::Stdout);
        }
        let file = File::create(path)
            .map_err(|error| Failure::Output(format!("`{}`", path.display()), error))?;
        Ok(Destination::File(path.to_path_buf(), BufWriter::new(file)))
    }

    /// The same for an option that may be absent.
    pub(crate) fn open_if_given(path: Option<&Path>) -> Result<Option<Destination>, Failure> {
        path.map(Destination::open).transpose()
    }

    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Destination::Stdout)
    }

    /// Hands the stream to `write`, and names it if that fails.
    pub(crate) fn write<E>(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<io::Result<()>, E>,
    ) -> Result<(), Failure>
    where
        Failure: From<E>,
    {
        match self {
            Destination::Stdout => {
                write(&mut BufWriter::new(io::stdout().lock()))?.map_err(stdout_failed)
            }
            Destination::File(path, file) => write(file)?
                .map_err(|error| Failure::Output(format!("`{}`", path.display()), error)),
        }
    }

    /// Writes `text`.
    pub(crate) fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(|out| {
            Ok::<_, Failure>(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
        })
    }

    /// Writes `value` as indented JSON with a newline.
    pub(crate) fn write_json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.write(|out| {
            let result = serde_json::to_writer_pretty(&mut *out, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
                .and_then(|()| out.flush());
            Ok::<_, Failure>(result)
        })
    }
}
