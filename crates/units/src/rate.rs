use core::fmt;
use core::str::FromStr;

use crate::decimal::{self, ParseError, Unit};
use crate::share::Share;
use crate::size::Size;
use crate::time::Span;

/// A transfer rate in bits per second, of a link or of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// `bytes` bytes per second.
    pub const fn from_bytes_per_s(bytes: u64) -> Rate {
        Rate(bytes * 8)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `size` takes at this rate, cut to whole nanoseconds.
    ///
    /// # Panics
    /// If the rate is zero.
    pub const fn time_for(self, size: Size) -> Span {
        self.time_for_bits(size.as_bits())
    }

    /// How long `bits` take at this rate, cut to whole nanoseconds.
    ///
    /// # Panics
    /// If the rate is zero.
    #[expect(clippy::cast_possible_truncation, reason = "584 years is out of reach for a transfer")]
    pub const fn time_for_bits(self, bits: u64) -> Span {
        assert!(self.0 > 0, "nothing moves at a rate of zero");
        // The usual sizes fit 64 bits: a 128-bit division costs about ten times as much.
        match bits.checked_mul(1_000_000_000) {
            Some(product) => Span::from_ns(product / self.0),
            None => Span::from_ns((bits as u128 * 1_000_000_000 / self.0 as u128) as u64),
        }
    }

    /// How many bits pass in `span`, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "a span times a rate below 2^64 bits")]
    pub const fn bits_in(self, span: Span) -> u64 {
        match self.0.checked_mul(span.as_ns()) {
            Some(product) => product / 1_000_000_000,
            None => (self.0 as u128 * span.as_ns() as u128 / 1_000_000_000) as u64,
        }
    }

    /// This part of the rate, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "a share is at most the whole")]
    pub const fn share(self, share: Share) -> Rate {
        Rate((self.0 as u128 * share.as_ppm() as u128 / 1_000_000) as u64)
    }

    /// This rate divided evenly among `n` users, rounded down.
    pub const fn split(self, n: u64) -> Rate {
        Rate(self.0 / n)
    }
}

const UNITS: &[Unit] = &[
    Unit { name: "bps", worth: 1 },
    Unit { name: "kbps", worth: 1_000 },
    Unit { name: "Mbps", worth: 1_000_000 },
    Unit { name: "Gbps", worth: 1_000_000_000 },
    Unit { name: "Tbps", worth: 1_000_000_000_000 },
    Unit { name: "B/s", worth: 8 },
    Unit { name: "KiB/s", worth: 8 << 10 },
    Unit { name: "MiB/s", worth: 8 << 20 },
    Unit { name: "GiB/s", worth: 8 << 30 },
    Unit { name: "kB/s", worth: 8_000 },
    Unit { name: "MB/s", worth: 8_000_000 },
    Unit { name: "GB/s", worth: 8_000_000_000 },
];

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let expected = "a rate such as `10Gbps`, `400MiB/s` or `400MB/s`";
        decimal::parse(text, UNITS, expected, "bits per second").map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0 && self.0.is_multiple_of(8 << 20) {
            return f.pad(&alloc::format!("{}MiB/s", self.0 / (8 << 20)));
        }
        let (worth, unit) = match self.0 {
            0..1_000 => (1, "bps"),
            1_000..1_000_000 => (1_000, "kbps"),
            1_000_000..1_000_000_000 => (1_000_000, "Mbps"),
            _ => (1_000_000_000, "Gbps"),
        };
        decimal::print(f, self.0, worth, unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn rates_are_read_and_printed_as_people_write_them() {
        assert_eq!("10Gbps".parse(), Ok(Rate::from_bps(10_000_000_000)));
        assert_eq!("400MiB/s".parse(), Ok(Rate::from_bytes_per_s(400 << 20)));
        assert_eq!("400MB/s".parse(), Ok(Rate::from_bps(3_200_000_000)));
        assert_eq!(Rate::from_bps(8_910_000_000).to_string(), "8.91Gbps");
        assert_eq!(Rate::from_bytes_per_s(400 << 20).to_string(), "400MiB/s");
    }

    #[test]
    fn a_transfer_takes_the_published_time() {
        // 1 MiB at 8.91 Gb/s is the 941.482 us of the "Choosy Initiator" text (seed 001).
        let data = Rate::from_bps(8_910_000_000);
        assert_eq!(data.time_for(Size::from_mib(1)), Span::from_ns(941_482));
        assert_eq!(data.time_for(Size::from_bytes(9000)), Span::from_ns(8080));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_the_identity(bps: u64) {
            let rate = Rate::from_bps(bps);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn bits_in_undoes_time_for(rate in 1_000u64..1 << 40, bits in 0u64..1 << 33) {
            let rate = Rate::from_bps(rate);
            let back = rate.bits_in(rate.time_for_bits(bits));
            prop_assert!(back <= bits);
            prop_assert!(bits - back <= rate.as_bps() / 1_000_000_000 + 1);
        }
    }
}
