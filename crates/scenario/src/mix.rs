//! Which sizes objects have, and how often each.

use std::fmt;
use std::str::FromStr;

use slotcast_units::{Share, Size};

/// Sizes of objects with their shares of the requests: `64KiB:50% 1MiB:40% 16MiB:10%`, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mix {
    parts: [(Size, Share); Mix::CAPACITY],
    len: u8,
}

/// A mix that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// A part that is not a size and a share.
    #[error(
        "`{0}` is not a size and a share; expected parts such as `64KiB:50% 1MiB:50%`, or `none`"
    )]
    NotAPart(String),
    /// An object without content, or a size that never occurs.
    #[error("`{0}`: the sizes and the shares of a mix are more than zero")]
    Nothing(String),
    /// Too many parts.
    #[error("{0} sizes; a mix has at most {most}", most = Mix::CAPACITY)]
    TooMany(usize),
    /// The shares are not a whole.
    #[error("the shares of a mix make 100% together, not {0}")]
    NotWhole(String),
}

impl Mix {
    /// The most sizes that a mix can have.
    pub const CAPACITY: usize = 8;

    /// A mix of `parts`; no parts are no mix.
    ///
    /// # Errors
    /// If there are too many parts, one of them is nothing, or they do not make a whole.
    pub fn new(parts: &[(Size, Share)]) -> Result<Mix, MixError> {
        if parts.len() > Mix::CAPACITY {
            return Err(MixError::TooMany(parts.len()));
        }
        if let Some((size, share)) =
            parts.iter().find(|(size, share)| *size == Size::ZERO || *share == Share::ZERO)
        {
            return Err(MixError::Nothing(format!("{size}:{share}")));
        }
        let total: u64 = parts.iter().map(|(_, share)| u64::from(share.as_ppm())).sum();
        if !parts.is_empty() && total != u64::from(Share::ONE.as_ppm()) {
            let total =
                u32::try_from(total).map_or("more".into(), |ppm| Share::from_ppm(ppm).to_string());
            return Err(MixError::NotWhole(total));
        }
        let mut mix = Mix::default();
        mix.parts[..parts.len()].copy_from_slice(parts);
        mix.len = u8::try_from(parts.len()).expect("at most eight");
        Ok(mix)
    }

    /// The sizes with their shares; none if there is no mix.
    pub fn parts(&self) -> &[(Size, Share)] {
        &self.parts[..usize::from(self.len)]
    }

    /// Whether there is no mix.
    pub fn is_none(&self) -> bool {
        self.len == 0
    }

    /// The largest size; zero if there is no mix.
    pub fn largest(&self) -> Size {
        self.parts().iter().map(|(size, _)| *size).max().unwrap_or_default()
    }

    /// The mean of `of` over the sizes, each as often as its share; zero if there is no mix.
    pub fn mean(&self, of: impl Fn(Size) -> f64) -> f64 {
        self.parts().iter().map(|(size, share)| share.as_f64() * of(*size)).sum()
    }

    /// The size that a draw of `ppm`, even from 0 to 999 999, stands for.
    ///
    /// # Panics
    /// If there is no mix.
    pub fn pick(&self, ppm: u64) -> Size {
        let mut below = 0;
        let hit = self.parts().iter().find(|(_, share)| {
            below += u64::from(share.as_ppm());
            ppm < below
        });
        hit.or(self.parts().last()).expect("a mix has a part").0
    }
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Mix, MixError> {
        if text.trim() == "none" {
            return Ok(Mix::default());
        }
        let part = |part: &str| {
            let (size, share) = part.split_once(':')?;
            Some((size.parse().ok()?, share.parse().ok()?))
        };
        let parts: Vec<_> = text
            .split_whitespace()
            .map(|text| part(text).ok_or_else(|| MixError::NotAPart(text.into())))
            .collect::<Result<_, _>>()?;
        if parts.is_empty() {
            return Err(MixError::NotAPart(text.into()));
        }
        Mix::new(&parts)
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.pad("none");
        }
        let parts: Vec<_> =
            self.parts().iter().map(|(size, share)| format!("{size}:{share}")).collect();
        f.pad(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mix_is_read_as_people_write_it() {
        let mix: Mix = "64KiB:50%  1MiB:40% 16MiB:10%".parse().unwrap();
        assert_eq!(mix.parts()[1], (Size::from_mib(1), Share::from_percent(40)));
        assert_eq!(mix.largest(), Size::from_mib(16));
        assert_eq!("none".parse(), Ok(Mix::default()));
    }

    #[test]
    fn what_is_wrong_with_a_mix_is_said() {
        let said = |text: &str| text.parse::<Mix>().unwrap_err().to_string();
        assert!(said("64KiB").contains("`64KiB` is not a size and a share"));
        assert!(said("").contains("expected parts such as"));
        assert!(said("64KiB:50% 1MiB:40%").contains("make 100% together, not 90%"));
        assert!(said("0B:100%").contains("more than zero"));
        assert!(said(&["1B:10%"; 9].join(" ")).contains("9 sizes; a mix has at most 8"));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_the_identity(
            sizes in proptest::collection::vec(1u64..1 << 40, 1..8),
            cut in 1u32..100_000,
        ) {
            let last = sizes.len() - 1;
            let parts: Vec<_> = sizes
                .iter()
                .enumerate()
                .map(|(i, &bytes)| {
                    let rest = 1_000_000 - cut * u32::try_from(last).unwrap();
                    (Size::from_bytes(bytes), Share::from_ppm(if i == last { rest } else { cut }))
                })
                .collect();
            let mix = Mix::new(&parts).unwrap();
            prop_assert_eq!(mix.to_string().parse(), Ok(mix));
            // Drawn evenly, every size comes as often as its share says.
            let first = (0..1_000).filter(|i| mix.pick(i * 1_000) == mix.pick(0)).count();
            prop_assert!(first >= (cut / 1_000) as usize);
        }
    }
}
