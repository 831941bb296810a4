use core::fmt;
use core::str::FromStr;

use crate::decimal::{self, ParseError, Unit};

/// A part of a whole in parts per million: `90%` is 900 000. May exceed the whole, as in `140%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

impl Share {
    /// Nothing.
    pub const ZERO: Share = Share(0);
    /// The whole.
    pub const ONE: Share = Share(1_000_000);

    /// `ppm` parts per million.
    pub const fn from_ppm(ppm: u32) -> Share {
        Share(ppm)
    }

    /// `percent` percent.
    pub const fn from_percent(percent: u32) -> Share {
        Share(percent * 10_000)
    }

    /// Parts per million.
    pub const fn as_ppm(self) -> u32 {
        self.0
    }

    /// The share as a number, 1.0 for the whole.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// What is left of the whole; nothing if the share exceeds it.
    pub const fn rest(self) -> Share {
        Share(1_000_000u32.saturating_sub(self.0))
    }
}

const UNITS: &[Unit] = &[Unit { name: "%", worth: 10_000 }, Unit { name: "ppm", worth: 1 }];

impl FromStr for Share {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Share, ParseError> {
        let ppm = decimal::parse(text, UNITS, "a share such as `10%` or `0.5%`", "ppm")?;
        u32::try_from(ppm).map(Share).map_err(|_| ParseError::OutOfRange {
            text: alloc::string::ToString::to_string(text),
            smallest: "ppm",
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::print(f, u64::from(self.0), 10_000, "%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn shares_are_read_and_printed_as_people_write_them() {
        assert_eq!("90%".parse(), Ok(Share::from_percent(90)));
        assert_eq!("0.5%".parse(), Ok(Share::from_ppm(5_000)));
        assert_eq!(Share::from_percent(140).to_string(), "140%");
        assert_eq!(Share::from_percent(10).rest(), Share::from_percent(90));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_the_identity(ppm: u32) {
            let share = Share::from_ppm(ppm);
            prop_assert_eq!(share.to_string().parse(), Ok(share));
        }
    }
}
