//! The part of a run that a trace shows.

use std::fmt;
use std::str::FromStr;

use slotcast_units::{ParseError, Span, Time};

/// A piece of simulated time, written as `20ms..25ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSpan {
    /// What ends at this time, or earlier, is left out.
    pub from: Time,
    /// What begins at this time, or later, is left out.
    pub to: Time,
}

impl TraceSpan {
    /// All of every run.
    pub const WHOLE: TraceSpan = TraceSpan { from: Time::ZERO, to: Time::NEVER };
}

/// Text that is no span of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceSpanError {
    /// There are not two times with `..` between them.
    Form,
    /// One of the two is no time.
    Time(ParseError),
    /// The second is not later than the first.
    Empty,
}

impl fmt::Display for TraceSpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceSpanError::Form => f.write_str("expected two times such as `20ms..25ms`"),
            TraceSpanError::Time(error) => error.fmt(f),
            TraceSpanError::Empty => {
                f.write_str("the second time must be later than the first, as in `20ms..25ms`")
            }
        }
    }
}

impl std::error::Error for TraceSpanError {}

impl FromStr for TraceSpan {
    type Err = TraceSpanError;

    fn from_str(text: &str) -> Result<TraceSpan, TraceSpanError> {
        let (from, to) = text.split_once("..").ok_or(TraceSpanError::Form)?;
        let time = |text: &str| match text.trim().parse::<Span>() {
            Ok(span) => Ok(Time::ZERO + span),
            Err(error) => Err(TraceSpanError::Time(error)),
        };
        let span = TraceSpan { from: time(from)?, to: time(to)? };
        if span.from < span.to { Ok(span) } else { Err(TraceSpanError::Empty) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_times_make_a_span() {
        let span = TraceSpan { from: Time::from_ns(20_000_000), to: Time::from_ns(25_500_000) };
        assert_eq!("20ms..25.5ms".parse(), Ok(span));
        assert_eq!(" 0 .. 1ns".parse(), Ok(TraceSpan { from: Time::ZERO, to: Time::from_ns(1) }));
        for (text, error) in [
            ("20ms", "expected two times"),
            ("20ms..", "duration"),
            ("20ms..21", "duration"),
            ("5ms..5ms", "later than the first"),
        ] {
            let said = text.parse::<TraceSpan>().unwrap_err().to_string();
            assert!(said.contains(error), "{text}: {said}");
        }
    }
}
