//! What is wrong with an input, and where: one error that shows the line.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

/// A text that was read: a file, or one argument of the command line.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: NamedSource<String>,
}

impl Source {
    /// The text `text`, which errors call `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        let name = name.into();
        let text = NamedSource::new(&name, text.into());
        Arc::new(Source { name, text })
    }

    /// What errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    pub fn text(&self) -> &str {
        self.text.inner()
    }
}

/// A place in a source: where a value comes from, for errors that are found later.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The text.
    pub source: Arc<Source>,
    /// The bytes of the text.
    pub span: Range<usize>,
}

impl Origin {
    /// An error at this place; `label` says what was expected there.
    pub fn error(&self, message: impl Into<String>, label: impl Into<String>) -> Box<InputError> {
        Box::new(InputError {
            message: message.into(),
            source: Some(Arc::clone(&self.source)),
            label: Some((self.span.clone(), label.into())),
            help: None,
        })
    }
}

/// Input that cannot be used. Nothing has run.
///
/// As a [`Diagnostic`] it prints the line at fault with what was expected, and the nearest valid name
/// where a name is unknown.
#[derive(Debug, Clone)]
pub struct InputError {
    message: String,
    source: Option<Arc<Source>>,
    label: Option<(Range<usize>, String)>,
    help: Option<String>,
}

impl InputError {
    /// An error about `source` as a whole.
    pub fn whole(source: &Arc<Source>, message: impl Into<String>) -> Box<InputError> {
        Box::new(InputError {
            message: format!("{}: {}", source.name, message.into()),
            source: None,
            label: None,
            help: None,
        })
    }

    /// An error at a place in the text of the file `name`, which somebody else has read.
    pub fn in_file(
        name: &str,
        text: &str,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Box<InputError> {
        let origin = Origin { source: Source::new(name, text), span };
        origin.error(message, "here")
    }

    /// An error without a text to show.
    pub fn plain(message: impl Into<String>) -> Box<InputError> {
        Box::new(InputError { message: message.into(), source: None, label: None, help: None })
    }

    /// The number of the line at fault, from 1; none if the error is about no place in a text.
    pub fn line(&self) -> Option<usize> {
        let (source, (span, _)) = self.source.as_ref().zip(self.label.as_ref())?;
        Some(source.text().get(..span.start)?.matches('\n').count() + 1)
    }

    /// The words at fault, as the text has them.
    pub fn words(&self) -> Option<&str> {
        let (source, (span, _)) = self.source.as_ref().zip(self.label.as_ref())?;
        source.text().get(span.clone())
    }

    /// What was expected at that place.
    pub fn expected(&self) -> Option<&str> {
        self.label.as_ref().map(|(_, label)| label.as_str())
    }

    /// What to do about it, if that is known.
    pub fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// As the command line tells it, with the line at fault, without colours.
    pub fn told(&self) -> String {
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
            .with_context_lines(1)
            .with_width(1000);
        match handler.render_report(&mut text, self) {
            Ok(()) => text,
            Err(_) => self.message.clone(),
        }
    }

    /// The same error with a line of help, if there is one.
    #[must_use]
    pub fn with_help(mut self: Box<Self>, help: Option<String>) -> Box<InputError> {
        self.help = help;
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for InputError {}

impl Diagnostic for InputError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| &source.text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (span, label) = self.label.as_ref()?;
        let span = LabeledSpan::new_with_span(Some(label.clone()), span.clone());
        Some(Box::new(std::iter::once(span)))
    }
}

#[cfg(test)]
mod tests {
    use crate::Experiment;

    #[test]
    fn an_error_has_line_words_and_remedy() {
        let wrong = |text: &str| Experiment::from_toml("a.toml", text, &[]).unwrap_err();
        let error = wrong("[cluster]\ntargets = 9\ntargetz = 9\n");
        assert_eq!((error.line(), error.words()), (Some(3), Some("targetz")));
        assert_eq!(error.remedy(), Some("did you mean `cluster.targets`?"));
        assert!(error.expected().is_some_and(|text| text.contains("initiators")));
        let told = error.told();
        assert!(told.contains("a.toml:3:1") && told.contains("help: did you mean"), "{told}");
        let error = wrong("[disk]\nrate = \"5 bananas\"\n");
        assert_eq!((error.line(), error.words()), (Some(2), Some("\"5 bananas\"")));
        let plain = super::InputError::plain("no");
        assert_eq!((plain.line(), plain.words(), plain.remedy()), (None, None, None));
    }
}
