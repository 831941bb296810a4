//! Kinds of values: what unit they have, which are allowed, how they are read and printed.

use std::fmt;
use std::str::FromStr;

use slotcast_sim::Mix;
use slotcast_units::{Rate, Share, Size, Span};

use super::field::Choice;
use crate::nearest;

/// The value of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// A number of bytes.
    Size(Size),
    /// A rate of a link or a disk.
    Rate(Rate),
    /// A length of time.
    Span(Span),
    /// A part of a whole.
    Share(Share),
    /// One word of a [`Kind::Choice`].
    Word(&'static str),
    /// On or off.
    Switch(bool),
    /// Sizes with their shares.
    Mix(Mix),
    /// Some words of a [`Kind::Words`].
    Words(Words),
}

impl Value {
    /// Whether it is a number of nothing.
    pub fn is_zero(&self) -> bool {
        match *self {
            Value::Count(count) => count == 0,
            Value::Size(size) => size == Size::ZERO,
            Value::Rate(rate) => rate.as_bps() == 0,
            Value::Span(span) => span == Span::ZERO,
            Value::Share(share) => share == Share::ZERO,
            Value::Word(_) | Value::Switch(_) | Value::Mix(_) | Value::Words(_) => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(n) => n.fmt(f),
            Value::Size(size) => size.fmt(f),
            Value::Rate(rate) => rate.fmt(f),
            Value::Span(span) => span.fmt(f),
            Value::Share(share) => share.fmt(f),
            Value::Word(word) => word.fmt(f),
            Value::Switch(on) => on.fmt(f),
            Value::Mix(mix) => mix.fmt(f),
            Value::Words(words) => words.fmt(f),
        }
    }
}

/// A word that a choice accepts, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// As written in a file.
    pub word: &'static str,
    /// What it stands for.
    pub doc: &'static str,
}

/// Some of a list of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    of: &'static [Word],
    /// Bit i is set if the word at index i is among them.
    chosen: u32,
}

impl Words {
    /// None of the words `of`, of which there are at most 32.
    pub const fn none(of: &'static [Word]) -> Words {
        assert!(of.len() <= 32, "one bit for each word");
        Words { of, chosen: 0 }
    }

    /// Adds `word`, if it is one of the list.
    #[must_use]
    pub fn with(mut self, word: &str) -> Option<Words> {
        let index = self.of.iter().position(|known| known.word == word)?;
        self.chosen |= 1 << index;
        Some(self)
    }

    /// Those that were chosen, in the order of the list.
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        let of = self.of.iter().enumerate();
        of.filter(move |(index, _)| self.chosen >> index & 1 == 1).map(|(_, word)| word.word)
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chosen {
            0 => f.write_str("none"),
            _ => f.write_str(&self.iter().collect::<Vec<_>>().join(" ")),
        }
    }
}

/// The smallest and the largest value that is allowed, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range<T> {
    /// Smallest allowed value.
    pub min: T,
    /// Largest allowed value.
    pub max: T,
}

impl<T: PartialOrd + fmt::Display> Range<T> {
    fn check(&self, value: T) -> Result<T, String> {
        if value < self.min || value > self.max {
            return Err(format!("{value} is out of range; expected {self}"));
        }
        Ok(value)
    }
}

impl<T: fmt::Display> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// Unit and range of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, written without quotes.
    Count(Range<u64>),
    /// A number of bytes: `"128KiB"`.
    Size(Range<Size>),
    /// A rate: `"10Gbps"` or `"400MiB/s"`.
    Rate(Range<Rate>),
    /// A length of time: `"2.4us"`.
    Span(Range<Span>),
    /// A part of a whole: `"10%"`.
    Share(Range<Share>),
    /// One of a few words.
    Choice(&'static [Word]),
    /// `true` or `false`, written without quotes.
    Switch,
    /// Sizes with their shares: `"64KiB:50% 1MiB:50%"`, or `"none"`; in a file also a list of tables.
    Mix,
    /// Some of a few words: `"nodes link"`, or `"none"`; in a file also a list.
    Words(&'static [Word]),
}

/// A whole number from `min` to `max`.
pub const fn count(min: u64, max: u64) -> Kind {
    Kind::Count(Range { min, max })
}

/// A size from `min` to `max`.
pub const fn size(min: Size, max: Size) -> Kind {
    Kind::Size(Range { min, max })
}

/// A rate of a link or a disk, from 1 Mb/s to 10 Tb/s.
pub const fn rate() -> Kind {
    Kind::Rate(Range { min: Rate::from_bps(1_000_000), max: Rate::from_bps(10_000_000_000_000) })
}

/// A length of time from `min` to `max`.
pub const fn span(min: Span, max: Span) -> Kind {
    Kind::Span(Range { min, max })
}

/// A share from `min` to `max`.
pub const fn share(min: Share, max: Share) -> Kind {
    Kind::Share(Range { min, max })
}

/// One of the words of `T`.
pub const fn choice<T: Choice>() -> Kind {
    Kind::Choice(T::WORDS)
}

impl Kind {
    /// Reads a value of this kind.
    ///
    /// # Errors
    /// What is wrong with `text` and what was expected, as a clause without a final stop.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Count(range) => match text.replace('_', "").parse() {
                Ok(count) => range.check(count).map(Value::Count),
                Err(_) => Err(format!("`{text}` is not a whole number; expected {range}")),
            },
            Kind::Size(range) => range.check(quantity(text)?).map(Value::Size),
            Kind::Rate(range) => range.check(quantity(text)?).map(Value::Rate),
            Kind::Span(range) => range.check(quantity(text)?).map(Value::Span),
            Kind::Share(range) => range.check(quantity(text)?).map(Value::Share),
            Kind::Choice(words) => match words.iter().find(|w| w.word == text) {
                Some(word) => Ok(Value::Word(word.word)),
                None => Err(format!("`{text}` is not one of {}", listed(words))),
            },
            Kind::Switch => match text {
                "true" => Ok(Value::Switch(true)),
                "false" => Ok(Value::Switch(false)),
                _ => Err(format!("`{text}` is neither `true` nor `false`")),
            },
            Kind::Mix => quantity(text).map(Value::Mix),
            Kind::Words(words) => {
                let mut chosen = Words::none(words);
                for word in text.split_whitespace().filter(|_| text != "none") {
                    chosen = chosen
                        .with(word)
                        .ok_or_else(|| format!("`{word}` is not one of {}", listed(words)))?;
                }
                Ok(Value::Words(chosen))
            }
        }
    }

    /// The allowed word that is most like `text`, for a choice.
    pub fn nearest_word(&self, text: &str) -> Option<&'static str> {
        match self {
            Kind::Choice(words) => nearest::nearest(text, words.iter().map(|w| w.word)),
            Kind::Words(words) => {
                let known = || words.iter().map(|w| w.word);
                let wrong = text.split_whitespace().find(|word| known().all(|w| w != *word))?;
                nearest::nearest(wrong, known())
            }
            Kind::Switch => nearest::nearest(text, ["true", "false"]),
            _ => None,
        }
    }

    /// What the kind is called: `size`, `rate`, ...
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Count(_) => "count",
            Kind::Size(_) => "size",
            Kind::Rate(_) => "rate",
            Kind::Span(_) => "duration",
            Kind::Share(_) => "share",
            Kind::Choice(_) => "choice",
            Kind::Switch => "switch",
            Kind::Mix => "mix",
            Kind::Words(_) => "choices",
        }
    }

    /// How a value of this kind is written, with units.
    pub fn expected(&self) -> String {
        match self {
            Kind::Count(_) => "a whole number without quotes, such as `90`".into(),
            Kind::Size(_) => {
                "a size in quotes, such as `\"300B\"`, `\"128KiB\"` or `\"1MiB\"`".into()
            }
            Kind::Rate(_) => "a rate in quotes, such as `\"10Gbps\"` or `\"400MiB/s\"`".into(),
            Kind::Span(_) => {
                "a duration in quotes, such as `\"2.4us\"`, `\"10ms\"` or `\"1s\"`".into()
            }
            Kind::Share(_) => "a share in quotes, such as `\"10%\"` or `\"0.5%\"`".into(),
            Kind::Choice(words) => format!("a word in quotes, one of {}", listed(words)),
            Kind::Switch => "`true` or `false`, without quotes".into(),
            Kind::Mix => {
                "sizes with their shares in quotes, such as `\"64KiB:50% 1MiB:50%\"`, or `\"none\"`; \
                 or a list such as `[{ size = \"1MiB\", share = \"100%\" }]`"
                    .into()
            }
            Kind::Words(words) => {
                format!("words in quotes, or a list of such words, of {}", listed(words))
            }
        }
    }

    /// The allowed values, for people.
    pub fn range(&self) -> String {
        match self {
            Kind::Count(range) => range.to_string(),
            Kind::Size(range) => range.to_string(),
            Kind::Rate(range) => range.to_string(),
            Kind::Span(range) => range.to_string(),
            Kind::Share(range) => range.to_string(),
            Kind::Choice(words) => words.iter().map(|w| w.word).collect::<Vec<_>>().join(", "),
            Kind::Switch => "true, false".into(),
            Kind::Words(words) => {
                let words: Vec<_> = words.iter().map(|w| w.word).collect();
                format!("none, or some of {}", words.join(", "))
            }
            Kind::Mix => format!("none, or up to {} parts SIZE:SHARE", Mix::CAPACITY),
        }
    }

    /// Some values of this kind: both ends of a range, every word of a choice.
    pub fn examples(&self) -> Vec<Value> {
        match *self {
            Kind::Count(r) => [r.min, r.max].map(Value::Count).into(),
            Kind::Size(r) => [r.min, r.max].map(Value::Size).into(),
            Kind::Rate(r) => [r.min, r.max].map(Value::Rate).into(),
            Kind::Span(r) => [r.min, r.max].map(Value::Span).into(),
            Kind::Share(r) => [r.min, r.max].map(Value::Share).into(),
            Kind::Choice(words) => words.iter().map(|word| Value::Word(word.word)).collect(),
            Kind::Switch => [false, true].map(Value::Switch).into(),
            Kind::Mix => {
                let mixes = ["4KiB:30% 1MiB:70%", "none"];
                mixes.map(|mix| Value::Mix(mix.parse().expect("a mix"))).into()
            }
            Kind::Words(words) => {
                let each = words.iter().map(|word| Words::none(words).with(word.word));
                each.flatten().map(Value::Words).collect()
            }
        }
    }

    /// Whether a value of this kind stands in quotes in a file.
    pub fn is_quoted(&self) -> bool {
        !matches!(self, Kind::Count(_) | Kind::Switch)
    }
}

fn quantity<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn listed(words: &[Word]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`{}`", w.word)).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_what_was_expected() {
        let count = Kind::Count(Range { min: 1, max: 9 });
        assert_eq!(count.parse("0").unwrap_err(), "0 is out of range; expected 1 to 9");
        assert_eq!(count.parse("x").unwrap_err(), "`x` is not a whole number; expected 1 to 9");
        let size = Kind::Size(Range { min: Size::from_bytes(1), max: Size::from_mib(1) });
        assert!(size.parse("128kb").unwrap_err().contains("expected a size such as"));
        assert_eq!(size.parse("2MiB").unwrap_err(), "2MiB is out of range; expected 1B to 1MiB");
    }
}
