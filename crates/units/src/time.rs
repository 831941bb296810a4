use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub};
use core::str::FromStr;

use crate::decimal::{self, ParseError, Unit};

/// A point on the clock: nanoseconds since its start. Holds 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the clock.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "never".
    pub const NEVER: Time = Time(u64::MAX);

    /// The time `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns)
    }

    /// Nanoseconds since the start.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The span since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// This time less `span`, or the start of the clock if that is nearer.
    pub const fn saturating_sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }

    /// This time plus `span`, or [`Time::NEVER`] if the clock does not reach it.
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000)
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s * 1_000_000_000)
    }

    /// The span nearest to `s` seconds; negative and undefined values give zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Microseconds, for reports.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This span less `other`, or zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// `self * percent / 100`, rounded down.
    pub const fn percent(self, percent: u64) -> Span {
        Span(self.0 * percent / 100)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.checked_add(span.0).expect("a time beyond 584 years"))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("a span that ends before it starts"))
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.checked_sub(span.0).expect("a time before the start of the clock"))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.checked_add(other.0).expect("a span beyond 584 years"))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.checked_sub(other.0).expect("a negative span"))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.checked_mul(factor).expect("a span beyond 584 years"))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl Div for Span {
    type Output = u64;
    fn div(self, other: Span) -> u64 {
        self.0 / other.0
    }
}

impl Rem for Span {
    type Output = Span;
    fn rem(self, other: Span) -> Span {
        Span(self.0 % other.0)
    }
}

impl core::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

const UNITS: &[Unit] = &[
    Unit { name: "ns", worth: 1 },
    Unit { name: "us", worth: 1_000 },
    Unit { name: "µs", worth: 1_000 },
    Unit { name: "ms", worth: 1_000_000 },
    Unit { name: "s", worth: 1_000_000_000 },
    Unit { name: "min", worth: 60_000_000_000 },
    Unit { name: "h", worth: 3_600_000_000_000 },
];

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Span, ParseError> {
        decimal::parse(text, UNITS, "a duration such as `2.4us`, `10ms` or `1s`", "nanoseconds")
            .map(Span)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (worth, unit) = match self.0 {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        decimal::print(f, self.0, worth, unit)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn spans_are_read_and_printed_as_people_write_them() {
        assert_eq!("2.424us".parse(), Ok(Span::from_ns(2424)));
        assert_eq!("1 s".parse(), Ok(Span::from_secs(1)));
        assert_eq!("0".parse(), Ok(Span::ZERO));
        assert_eq!(Span::from_ns(2424).to_string(), "2.424us");
        assert_eq!(Span::from_ms(20).to_string(), "20ms");
        assert_eq!(Span::from_ns(941_482).to_string(), "941.482us");
    }

    #[test]
    fn what_is_not_a_span_says_what_would_be() {
        for (text, part) in [
            ("", "not a number"),
            ("ten ms", "not a number"),
            ("10", "no known unit"),
            ("10 parsecs", "no known unit"),
            ("0.5ns", "exactly"),
            ("99999999999999s", "exactly"),
            ("1.2.3s", "not a number"),
            ("-1s", "not a number"),
        ] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_the_identity(ns: u64) {
            let span = Span::from_ns(ns);
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn parsing_never_panics(text: alloc::string::String) {
            let _ = text.parse::<Span>();
        }
    }
}
