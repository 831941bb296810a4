//! Settings that can vary, and how a place of an optimiser becomes values of them.

use slotcast_tune::{Coordinate, Dimension, Space};

use crate::configuration::Configuration;
use crate::setting::{Kind, Setting, Value};

/// One value for each knob, in their order.
pub type Settings = Vec<Value>;

/// A setting that can vary.
#[derive(Debug)]
pub struct Knob {
    pub(super) setting: &'static Setting<Configuration>,
    pub(super) values: Values,
}

/// What a knob can be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// One of these, which have no order.
    Listed(Vec<Value>),
    /// From one number to another, in the smallest unit of the setting's kind.
    Range { min: u64, max: u64, log: bool },
}

/// Digits of a value that is no count: more would say nothing.
const DIGITS: u32 = 3;

/// Sizes are multiples of so many parts of the power of two below them.
const PARTS_OF_A_SIZE: u32 = 6;

/// `number` with its first digits.
fn rounded(number: u64, kind: &Kind) -> u64 {
    match kind {
        Kind::Count(_) => number,
        Kind::Size(_) => {
            let step = 1 << number.checked_ilog2().unwrap_or(0).saturating_sub(PARTS_OF_A_SIZE);
            number.saturating_add(step / 2) / step * step
        }
        _ => {
            let step = 10u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(DIGITS - 1));
            number.saturating_add(step / 2) / step * step
        }
    }
}

impl Knob {
    /// The key of the setting.
    pub fn key(&self) -> &'static str {
        self.setting.key
    }

    fn dimension(&self) -> Dimension {
        match (&self.values, &self.setting.kind) {
            (Values::Listed(values), _) => Dimension::Choice(values.len()),
            (&Values::Range { min, max, log }, Kind::Count(_)) => {
                Dimension::Whole { min, max, log }
            }
            (&Values::Range { min, max, log }, _) => {
                Dimension::Real { min: min as f64, max: max as f64, log }
            }
        }
    }

    fn value(&self, coordinate: Coordinate) -> Value {
        let number = match (&self.values, coordinate) {
            (Values::Listed(values), Coordinate::Choice(index)) => return values[index],
            (Values::Range { .. }, Coordinate::Whole(number)) => number,
            (&Values::Range { min, max, .. }, Coordinate::Real(number)) => {
                rounded(number.round() as u64, &self.setting.kind).clamp(min, max)
            }
            other => unreachable!("{other:?} is of another kind"),
        };
        self.setting.kind.of_number(number).expect("a number between two values of this kind")
    }

    fn coordinate(&self, value: Value) -> Coordinate {
        match (&self.values, self.dimension()) {
            (Values::Listed(values), _) => {
                let index = values.iter().position(|known| *known == value);
                Coordinate::Choice(index.expect("one of the values"))
            }
            (_, Dimension::Whole { .. }) => Coordinate::Whole(value.number().expect("a count")),
            _ => Coordinate::Real(value.number().expect("a number") as f64),
        }
    }
}

/// The space of all knobs.
pub(super) fn space(knobs: &[Knob]) -> Space {
    Space::new(knobs.iter().map(Knob::dimension).collect())
}

/// The settings at `point` of the unit cube.
pub(super) fn settings_at(knobs: &[Knob], space: &Space, point: &[f64]) -> Settings {
    let coordinates = space.decode(point);
    knobs.iter().zip(coordinates).map(|(knob, coordinate)| knob.value(coordinate)).collect()
}

/// Where `settings` stand in the unit cube.
pub(super) fn place_of(knobs: &[Knob], space: &Space, settings: &Settings) -> Vec<f64> {
    let coordinates: Vec<_> =
        knobs.iter().zip(settings).map(|(knob, value)| knob.coordinate(*value)).collect();
    space.encode(&coordinates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::CLUSTER;

    fn knob(key: &str, min: &str, max: &str, log: bool) -> Knob {
        let setting = CLUSTER.find(key).expect("a key");
        let number = |text| setting.kind.parse(text).expect("a value").number().expect("a number");
        Knob { setting, values: Values::Range { min: number(min), max: number(max), log } }
    }

    fn texts(knob: Knob) -> Vec<String> {
        let knobs = [knob];
        let space = space(&knobs);
        let steps = (0..=10).map(|step| settings_at(&knobs, &space, &[f64::from(step) / 10.0]));
        steps.map(|settings| settings[0].to_string()).collect()
    }

    #[test]
    fn values_are_in_range_and_have_few_digits() {
        let found = texts(knob("replicast.bid_multiplier", "100%", "300%", false));
        assert_eq!(
            (found[0].as_str(), found[5].as_str(), found[10].as_str()),
            ("100%", "200%", "300%")
        );
        let found = texts(knob("network.trip", "1us", "1ms", true));
        assert_eq!(
            (found[0].as_str(), found[1].as_str(), found[10].as_str()),
            ("1us", "2us", "1ms")
        );
        let found = texts(knob("workload.window", "1", "4", false));
        assert_eq!((found[0].as_str(), found[10].as_str()), ("1", "4"));
        let found = texts(knob("workload.chunk_size", "4KiB", "1MiB", true));
        assert_eq!((found[0].as_str(), found[10].as_str()), ("4KiB", "1MiB"));
        assert!(found[5] == "64KiB", "{found:?}");
    }

    #[test]
    fn settings_are_found_again_where_they_stand() {
        let knobs = [
            knob("workload.window", "1", "16", true),
            knob("disk.rate", "100MiB/s", "4GB/s", true),
            Knob {
                setting: CLUSTER.find("replicast.ties").expect("a key"),
                values: Values::Listed(vec![Value::Word("name"), Value::Word("backlog")]),
            },
        ];
        let space = space(&knobs);
        for step in 0..50 {
            let at = f64::from(step) / 49.0;
            let settings = settings_at(&knobs, &space, &[at, 1.0 - at, at]);
            let place = place_of(&knobs, &space, &settings);
            assert_eq!(settings_at(&knobs, &space, &place), settings);
        }
    }
}
