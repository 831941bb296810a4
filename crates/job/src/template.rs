//! Names that are counted: `shard-{0001..0999}.tar`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The most names of a template.
pub const MAX_NAMES: u64 = 1 << 40;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// From, to, by steps of, at least so many digits.
    Numbers {
        first: u64,
        last: u64,
        step: u64,
        width: usize,
    },
}

/// Names with numbers in them, as `bash` counts: `{0001..0999}`, and `{0..90..10}` with a step. The last number counts fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

/// Why something is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTemplate {
    /// A brace has no end.
    #[error("the `{{` at byte {0} has no `}}`")]
    Open(usize),
    /// What is in braces is no range.
    #[error("`{{{0}}}` is no range of numbers: write {{0001..0999}}, or {{0..90..10}} with a step")]
    NoRange(String),
    /// There is nothing to count.
    #[error("there is no range in it: write one as in shard-{{0001..0999}}.tar")]
    Plain,
    /// There are too many names.
    #[error("it has more than {MAX_NAMES} names")]
    Long,
}

fn numbers(text: &str) -> Option<Part> {
    let digits = |text: &str| {
        let is_number = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten()
    };
    let mut parts = text.split("..");
    let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
    let (first, last) = (digits(from)?, digits(to)?);
    let step = step.map_or(Some(1), digits)?;
    let is_padded = |text: &str| text.len() > 1 && text.starts_with('0');
    let width = if is_padded(from) || is_padded(to) { from.len().max(to.len()) } else { 1 };
    let is_range = parts.next().is_none() && first <= last && step > 0;
    is_range.then_some(Part::Numbers { first, last, step, width })
}

impl Template {
    /// The template that is written so.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(text: &str) -> Result<Template, NoTemplate> {
        let (mut parts, mut rest, mut at) = (Vec::new(), text, 0);
        while let Some((before, after)) = rest.split_once('{') {
            let open = at + before.len();
            let (range, behind) = after.split_once('}').ok_or(NoTemplate::Open(open))?;
            parts.push(Part::Text(before.to_string()));
            parts.push(numbers(range).ok_or_else(|| NoTemplate::NoRange(range.to_string()))?);
            at = open + range.len() + 2;
            rest = behind;
        }
        if parts.is_empty() {
            return Err(NoTemplate::Plain);
        }
        parts.push(Part::Text(rest.to_string()));
        let template = Template(parts);
        let mut counts = template.0.iter().map(Part::count);
        let count = counts.try_fold(1_u64, |all, count| all.checked_mul(count));
        match count {
            Some(1..=MAX_NAMES) => Ok(template),
            _ => Err(NoTemplate::Long),
        }
    }

    /// How many names it has.
    pub fn count(&self) -> u64 {
        self.0.iter().map(Part::count).product()
    }

    /// One of them, counted from 0.
    pub fn name(&self, index: u64) -> Option<String> {
        let mut rest = (index < self.count()).then_some(index)?;
        let mut texts = Vec::new();
        for part in self.0.iter().rev() {
            texts.push(match part {
                Part::Text(text) => text.clone(),
                Part::Numbers { first, step, width, .. } => {
                    let number = first + step * (rest % part.count());
                    rest /= part.count();
                    format!("{number:0width$}")
                }
            });
        }
        texts.reverse();
        Some(texts.concat())
    }
}

impl Part {
    fn count(&self) -> u64 {
        match self {
            Part::Text(_) => 1,
            Part::Numbers { first, last, step, .. } => (last - first) / step + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let template = Template::new(text).expect("a template");
        (0..).map_while(|index| template.name(index)).collect()
    }

    #[test]
    fn they_count_as_a_shell_does() {
        assert_eq!(all("s-{08..11}.tar"), ["s-08.tar", "s-09.tar", "s-10.tar", "s-11.tar"]);
        assert_eq!(all("{0..90..45}"), ["0", "45", "90"]);
        assert_eq!(all("{1..2}/{5..6}"), ["1/5", "1/6", "2/5", "2/6"]);
        let template = Template::new("shard-{0001..0999}.tar").expect("a template");
        assert_eq!(template.count(), 999);
        assert_eq!(template.name(998).as_deref(), Some("shard-0999.tar"));
        assert_eq!(template.name(999), None);
    }

    #[test]
    fn what_is_none_is_refused_with_the_reason() {
        assert_eq!(Template::new("a{1..2"), Err(NoTemplate::Open(1)));
        assert_eq!(Template::new("a"), Err(NoTemplate::Plain));
        assert_eq!(Template::new("{0..999999999999}{0..999999999999}"), Err(NoTemplate::Long));
        for wrong in ["2..1", "a..b", "1", "1..2..0", "1..2..3..4", ""] {
            let text = format!("{{{wrong}}}");
            assert_eq!(Template::new(&text), Err(NoTemplate::NoRange(wrong.into())), "{wrong}");
        }
    }
}
