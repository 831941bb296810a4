//! Exact decimal numbers with a unit: `2.424us` is 2424 ns, never 2423.9999.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// Why a text is not a quantity. Each message says what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text does not begin with a number.
    #[error("`{text}` is not a number followed by a unit; expected {expected}")]
    NotANumber {
        /// What was given.
        text: String,
        /// An example of what is accepted.
        expected: &'static str,
    },
    /// The number has no unit, or one that this quantity does not have.
    #[error("`{text}` has no known unit; expected {expected}")]
    UnknownUnit {
        /// What was given.
        text: String,
        /// An example of what is accepted.
        expected: &'static str,
    },
    /// The number is too large, or finer than the smallest unit.
    #[error("`{text}` cannot be held exactly; expected a whole number of {smallest}, below 2^64")]
    OutOfRange {
        /// What was given.
        text: String,
        /// The unit that the quantity is counted in.
        smallest: &'static str,
    },
}

/// A unit's name and its worth in the smallest unit, as the fraction `worth / per`.
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) worth: u128,
}

/// Parses `<decimal> <unit>` exactly into a count of the smallest unit.
pub(crate) fn parse(
    text: &str,
    units: &[Unit],
    expected: &'static str,
    smallest: &'static str,
) -> Result<u64, ParseError> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let not_a_number = || ParseError::NotANumber { text: text.to_string(), expected };
    let out_of_range = || ParseError::OutOfRange { text: text.to_string(), smallest };

    let mut mantissa: u128 = 0;
    let mut scale: u128 = 1;
    let mut seen_point = false;
    let mut digits = 0;
    for c in number.chars() {
        match c {
            '_' if digits > 0 => {}
            '.' if !seen_point => seen_point = true,
            '0'..='9' => {
                digits += 1;
                // 30 digits keep mantissa * worth inside u128 for every unit below.
                if digits > 24 {
                    return Err(out_of_range());
                }
                mantissa = mantissa * 10 + u128::from(c as u8 - b'0');
                if seen_point {
                    scale *= 10;
                }
            }
            _ => return Err(not_a_number()),
        }
    }
    if digits == 0 {
        return Err(not_a_number());
    }
    let worth = match units.iter().find(|u| u.name == unit) {
        Some(unit) => unit.worth,
        None if unit.is_empty() && mantissa == 0 => 1,
        None => return Err(ParseError::UnknownUnit { text: text.to_string(), expected }),
    };
    let product = mantissa.checked_mul(worth).ok_or_else(out_of_range)?;
    if product % scale != 0 {
        return Err(out_of_range());
    }
    u64::try_from(product / scale).map_err(|_| out_of_range())
}

/// Prints `value` counted in a unit of `worth`, with exactly the decimals that it needs.
/// `worth` must be a power of ten.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, worth: u64, unit: &str) -> fmt::Result {
    let (whole, rest) = (value / worth, value % worth);
    let text = if rest == 0 {
        format!("{whole}{unit}")
    } else {
        let width = worth.ilog10() as usize;
        let fraction = format!("{rest:0width$}");
        format!("{whole}.{}{unit}", fraction.trim_end_matches('0'))
    };
    f.pad(&text)
}
