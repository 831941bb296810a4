//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;
use std::path::Path;

/// A file that cannot be used: which line, what it says there, and what helps.
#[derive(Debug, Clone)]
pub struct FileError {
    /// The path, as it was given.
    pub file: String,
    /// The whole text; empty if it could not be read.
    pub text: String,
    /// The place in the text.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileError { file, text, span, message, help } = self;
        write!(f, "{file}")?;
        if let Some(before) = span.as_ref().and_then(|span| text.get(..span.start)) {
            write!(f, ":{}", before.matches('\n').count() + 1)?;
        }
        write!(f, ": {message}")?;
        help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for FileError {}

/// A text that is being read.
pub(super) struct Source {
    pub(super) file: String,
    pub(super) text: String,
}

pub(super) type Result<T> = std::result::Result<T, Box<FileError>>;

impl Source {
    pub(super) fn open(path: &Path) -> Result<Source> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Source { file, text }),
            Err(error) => Err(Box::new(FileError {
                message: format!("cannot be read: {error}"),
                text: String::new(),
                file,
                span: None,
                help: None,
            })),
        }
    }

    pub(super) fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(&self.text)
            .map_err(|error| self.error(error.span(), error.message().to_owned(), None))
    }

    pub(super) fn error(
        &self,
        span: Option<Range<usize>>,
        message: String,
        help: Option<&str>,
    ) -> Box<FileError> {
        let (file, text) = (self.file.clone(), self.text.clone());
        Box::new(FileError { file, text, span, message, help: help.map(str::to_owned) })
    }
}
