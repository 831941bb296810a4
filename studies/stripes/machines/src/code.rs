use alloc::vec;
use alloc::vec::Vec;

use rustfs_erasure_codec::galois_8::{div, mul};

use crate::content::Content;

/// A systematic code over GF(2^8): `data` units as they are, and `parity` units that are sums of them,
/// each unit times its coefficient. Any `data` of the units give back all others.
///
/// The coefficients are a Cauchy matrix whose columns are scaled so that the first parity unit is the
/// plain sum. With one parity unit this is the exclusive or of RAID 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    data: u8,
    parity: u8,
}

/// Why a [`Code`] cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// There is nothing to protect, or nothing that protects.
    #[error("a stripe of {data} data and {parity} parity units: it needs at least one of each")]
    Empty {
        /// Data units asked for.
        data: u32,
        /// Parity units asked for.
        parity: u32,
    },
    /// More units than the code or the machines can tell apart.
    #[error(
        "a stripe of {data} data and {parity} parity units: at most {max_parity} parity units and \
         255 units in all"
    )]
    TooMany {
        /// Data units asked for.
        data: u32,
        /// Parity units asked for.
        parity: u32,
        /// Most parity units.
        max_parity: u32,
    },
}

/// Most parity units of a stripe.
pub(crate) const MAX_PARITY: u32 = 16;

impl Code {
    /// A code of `data` and `parity` units.
    ///
    /// # Errors
    /// If one of them is zero, if there are more than 16 parity units, or more than 255 units in all.
    pub const fn new(data: u32, parity: u32) -> Result<Code, CodeError> {
        if data == 0 || parity == 0 {
            return Err(CodeError::Empty { data, parity });
        }
        if parity > MAX_PARITY || data > 255 - parity {
            return Err(CodeError::TooMany { data, parity, max_parity: MAX_PARITY });
        }
        #[expect(clippy::cast_possible_truncation, reason = "both are below 256")]
        Ok(Code { data: data as u8, parity: parity as u8 })
    }

    /// The number of data units.
    pub const fn data(self) -> u8 {
        self.data
    }

    /// The number of parity units.
    pub const fn parity(self) -> u8 {
        self.parity
    }

    /// What data unit `unit` is multiplied with in parity unit `parity`. Never zero.
    pub fn coefficient(self, parity: u8, unit: u8) -> u8 {
        // 1 / (x + y) with one x for each row and one y for each column, all different; the column is
        // scaled so that its first element is one.
        div(self.data ^ unit, (self.data + parity) ^ unit)
    }

    /// The content of parity unit `parity` for these data units, in their order. `None` without units.
    ///
    /// Complexity: O(bytes of the stripe).
    pub fn encode<C: Content>(self, parity: u8, data: &[C]) -> Option<C> {
        let numbered = (0..self.data).zip(data);
        numbered.fold(None, |sum, (unit, content)| {
            let factor = self.coefficient(parity, unit);
            Some(match sum {
                None => content.scaled(factor),
                Some(mut sum) => {
                    sum.add_scaled(factor, content);
                    sum
                }
            })
        })
    }

    /// The content of `wanted`, from pieces of other places. Places count the data units first, then the
    /// parity units. `None` if there are fewer than [`data`](Code::data) pieces, or if one is twice among
    /// the first of them.
    ///
    /// Complexity: O(`data`^3), and O(bytes of `data` pieces).
    pub fn recover<C: Content>(self, wanted: u8, pieces: &[(u8, &C)]) -> Option<C> {
        let used = pieces.get(..usize::from(self.data))?;
        let places: Vec<u8> = used.iter().map(|(place, _)| *place).collect();
        let weights = self.weights(wanted, &places)?;
        let mut terms = weights.iter().zip(used).filter(|(weight, _)| **weight != 0);
        let (weight, (_, first)) = terms.next()?;
        Some(terms.fold(first.scaled(*weight), |mut sum, (weight, (_, content))| {
            sum.add_scaled(*weight, content);
            sum
        }))
    }

    /// The factors with which the pieces at `places` add up to `wanted`.
    fn weights(self, wanted: u8, places: &[u8]) -> Option<Vec<u8>> {
        let n = places.len();
        // A row for each data unit: what each piece has of it, and at the end what is wanted of it.
        let mut rows: Vec<Vec<u8>> = (0..self.data)
            .map(|unit| {
                let shares = places.iter().chain([&wanted]);
                shares.map(|place| self.share(*place, unit)).collect()
            })
            .collect();
        // Gauss and Jordan.
        for column in 0..n {
            let pivot = (column..n).find(|row| rows[*row][column] != 0)?;
            rows.swap(column, pivot);
            let divisor = rows[column][column];
            rows[column].iter_mut().for_each(|x| *x = div(*x, divisor));
            let reduced = rows[column].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != column) {
                let factor = row[column];
                row.iter_mut().zip(&reduced).for_each(|(x, y)| *x ^= mul(factor, *y));
            }
        }
        Some(rows.iter().map(|row| row[n]).collect())
    }

    /// What the unit at `place` has of data unit `unit`.
    fn share(self, place: u8, unit: u8) -> u8 {
        match place.checked_sub(self.data) {
            None => u8::from(place == unit),
            Some(parity) => self.coefficient(parity, unit),
        }
    }

    /// A bit for each parity unit.
    pub(crate) const fn all_parity(self) -> u32 {
        (1 << self.parity) - 1
    }

    /// A vector with a `value` for each data unit.
    pub(crate) fn per_unit<T: Clone>(self, value: T) -> Vec<T> {
        vec![value; usize::from(self.data)]
    }

    /// A vector with a `value` for each parity unit.
    pub(crate) fn per_parity<T: Clone>(self, value: T) -> Vec<T> {
        vec![value; usize::from(self.parity)]
    }
}
