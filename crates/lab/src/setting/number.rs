//! Settings that can be counted: their values as numbers, and ranges of them.

use slotcast_units::{Rate, Share, Size, Span};

use super::kind::{Kind, Value};

impl Value {
    /// In the smallest unit of its kind (bytes, bits per second, nanoseconds, parts per million); none
    /// for words, switches and mixes.
    pub fn number(self) -> Option<u64> {
        match self {
            Value::Count(n) => Some(n),
            Value::Size(size) => Some(size.as_bytes()),
            Value::Rate(rate) => Some(rate.as_bps()),
            Value::Span(span) => Some(span.as_ns()),
            Value::Share(share) => Some(u64::from(share.as_ppm())),
            Value::Word(_) | Value::Switch(_) | Value::Mix(_) | Value::Words(_) => None,
        }
    }
}

impl Kind {
    /// The value of this kind that [`Value::number`] gives as `number`.
    pub(crate) fn of_number(&self, number: u64) -> Option<Value> {
        match self {
            Kind::Count(_) => Some(Value::Count(number)),
            Kind::Size(_) => Some(Value::Size(Size::from_bytes(number))),
            Kind::Rate(_) => Some(Value::Rate(Rate::from_bps(number))),
            Kind::Span(_) => Some(Value::Span(Span::from_ns(number))),
            Kind::Share(_) => u32::try_from(number).ok().map(Share::from_ppm).map(Value::Share),
            Kind::Choice(_) | Kind::Switch | Kind::Mix | Kind::Words(_) => None,
        }
    }

    /// Reads one value, or a range of them: `1..8`, `0..100+10`, `4KiB..4MiB*2`. Both ends are included,
    /// the last one if the steps reach it.
    ///
    /// # Errors
    /// What is wrong with `text` and what was expected, as a clause without a final stop.
    pub fn parse_range(&self, text: &str, most: usize) -> Result<Vec<Value>, String> {
        let Some((first, rest)) = text.split_once("..") else { return Ok(vec![self.parse(text)?]) };
        let (last, step) = match rest.split_once(['*', '+']) {
            Some((last, step)) if rest[last.len()..].starts_with('*') => {
                (last, Step::Times(factor(step)?))
            }
            Some((last, step)) => (last, Step::Plus(self.number_of(step)?)),
            None if matches!(self, Kind::Count(_)) => (rest, Step::Plus(1)),
            None => {
                return Err(format!(
                    "`{text}` is a range without a step; expected `{text}*2`, or `+` and a step"
                ));
            }
        };
        let (first, last) = (self.number_of(first)?, self.number_of(last)?);
        if first > last {
            return Err(format!("`{text}` is a range that ends before it begins"));
        }
        if step.is_idle(first) {
            return Err(format!("`{text}` never gets beyond its beginning"));
        }
        let mut values = Vec::new();
        let mut next = Some(first);
        while let Some(number) = next.filter(|&number| number <= last) {
            if values.len() == most {
                return Err(format!("`{text}` has more than {most} values; expected fewer"));
            }
            values.push(self.of_number(number).expect("a number between two values of this kind"));
            next = step.after(number);
        }
        Ok(values)
    }

    /// A value of this kind as a number.
    fn number_of(&self, text: &str) -> Result<u64, String> {
        let value = self.parse(text.trim())?;
        let kind = self.name();
        value
            .number()
            .ok_or_else(|| format!("a {kind} has no ranges; expected its values in a list"))
    }
}

/// How a range gets from one value to the next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Plus(u64),
    Times(u64),
}

impl Step {
    fn is_idle(self, first: u64) -> bool {
        match self {
            Step::Plus(step) => step == 0,
            Step::Times(_) => first == 0,
        }
    }

    fn after(self, number: u64) -> Option<u64> {
        match self {
            Step::Plus(step) => number.checked_add(step),
            Step::Times(factor) => number.checked_mul(factor),
        }
    }
}

fn factor(text: &str) -> Result<u64, String> {
    match text.trim().parse() {
        Ok(factor) if factor >= 2 => Ok(factor),
        _ => Err(format!(
            "`*{text}` is no factor; expected a whole number from 2 on, as in `1..64*2`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CLUSTER, kind::Range};
    use super::*;
    use proptest::prelude::*;

    fn range(key: &str, text: &str) -> Result<Vec<String>, String> {
        let values = CLUSTER.find(key).expect("a setting").kind.parse_range(text, 100)?;
        Ok(values.iter().map(Value::to_string).collect())
    }

    #[test]
    fn ranges_count_and_multiply_in_the_units_of_the_setting() {
        assert_eq!(range("workload.window", "1..4").unwrap(), ["1", "2", "3", "4"]);
        assert_eq!(range("workload.window", "1..20*3").unwrap(), ["1", "3", "9"]);
        assert_eq!(range("workload.window", "7").unwrap(), ["7"]);
        assert_eq!(
            range("workload.chunk_size", "4KiB..64KiB*4").unwrap(),
            ["4KiB", "16KiB", "64KiB"]
        );
        assert_eq!(range("workload.get_share", "0%..50%+25%").unwrap(), ["0%", "25%", "50%"]);
        assert_eq!(range("network.link_rate", "10Gbps..30Gbps + 10Gbps").unwrap().len(), 3);
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said() {
        let said = |key, text| range(key, text).unwrap_err();
        assert!(said("workload.window", "8..1").contains("ends before it begins"));
        assert!(said("workload.window", "1..8*1").contains("no factor"));
        assert!(said("workload.window", "1..8+0").contains("out of range"));
        assert!(said("workload.get_share", "0%..8%+0%").contains("never gets beyond"));
        assert!(said("workload.get_share", "0%..8%*2").contains("never gets beyond"));
        assert!(said("workload.window", "1..1000").contains("more than 100 values"));
        assert!(said("workload.window", "0..8").contains("out of range; expected 1 to"));
        assert!(said("disk.rate", "1GB/s..2GB/s").contains("range without a step"));
        assert!(said("protocol.kind", "replicast-m..uch-ccp*2").contains("has no ranges"));
    }

    proptest! {
        #[test]
        fn a_range_is_what_lies_between_its_ends(first in 0u64..1000, more in 0u64..1000, step in 1u64..50) {
            let kind = Kind::Count(Range { min: 0, max: 10_000 });
            let last = first + more;
            let found = kind.parse_range(&format!("{first}..{last}+{step}"), 2000).unwrap();
            let expected: Vec<_> =
                (first..=last).step_by(usize::try_from(step).unwrap()).map(Value::Count).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
