use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;

use crate::decimal::{self, ParseError, Unit};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(u64);

impl Size {
    /// No bytes.
    pub const ZERO: Size = Size(0);

    /// `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Size {
        Size(bytes)
    }

    /// `kib` times 1024 bytes.
    pub const fn from_kib(kib: u64) -> Size {
        Size(kib << 10)
    }

    /// `mib` times 1024 KiB.
    pub const fn from_mib(mib: u64) -> Size {
        Size(mib << 20)
    }

    /// Bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// Bits.
    pub const fn as_bits(self) -> u64 {
        self.0 * 8
    }

    /// This size less `other`, or nothing.
    pub const fn saturating_sub(self, other: Size) -> Size {
        Size(self.0.saturating_sub(other.0))
    }
}

impl Add for Size {
    type Output = Size;
    fn add(self, other: Size) -> Size {
        Size(self.0.checked_add(other.0).expect("a size beyond 2^64 bytes"))
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        *self = *self + other;
    }
}

impl Sub for Size {
    type Output = Size;
    fn sub(self, other: Size) -> Size {
        Size(self.0.checked_sub(other.0).expect("a negative size"))
    }
}

impl Mul<u64> for Size {
    type Output = Size;
    fn mul(self, factor: u64) -> Size {
        Size(self.0.checked_mul(factor).expect("a size beyond 2^64 bytes"))
    }
}

impl Div for Size {
    type Output = u64;
    fn div(self, other: Size) -> u64 {
        self.0 / other.0
    }
}

pub(crate) const UNITS: &[Unit] = &[
    Unit { name: "B", worth: 1 },
    Unit { name: "KiB", worth: 1 << 10 },
    Unit { name: "MiB", worth: 1 << 20 },
    Unit { name: "GiB", worth: 1 << 30 },
    Unit { name: "TiB", worth: 1 << 40 },
    Unit { name: "kB", worth: 1_000 },
    Unit { name: "KB", worth: 1_000 },
    Unit { name: "MB", worth: 1_000_000 },
    Unit { name: "GB", worth: 1_000_000_000 },
    Unit { name: "TB", worth: 1_000_000_000_000 },
];

impl FromStr for Size {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Size, ParseError> {
        decimal::parse(text, UNITS, "a size such as `300B`, `128KiB` or `1MiB`", "bytes").map(Size)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shift, unit) = match self.0.trailing_zeros() {
            _ if self.0 == 0 => (0, "B"),
            40.. => (40, "TiB"),
            30..40 => (30, "GiB"),
            20..30 => (20, "MiB"),
            10..20 => (10, "KiB"),
            _ => (0, "B"),
        };
        f.pad(&alloc::format!("{}{unit}", self.0 >> shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_and_printed_as_people_write_them() {
        assert_eq!("128KiB".parse(), Ok(Size::from_kib(128)));
        assert_eq!("0.5 MiB".parse(), Ok(Size::from_kib(512)));
        assert_eq!("1MB".parse(), Ok(Size::from_bytes(1_000_000)));
        assert_eq!(Size::from_bytes(9000).to_string(), "9000B");
        assert_eq!(Size::from_mib(1).to_string(), "1MiB");
        assert!("128K".parse::<Size>().is_err());
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_the_identity(bytes: u64) {
            let size = Size::from_bytes(bytes);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
    }
}
