//! What can vary, and how a point of the unit cube becomes settings.

/// One thing that can vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dimension {
    /// A number from `min` to `max`; with `log`, equal factors are equally far apart.
    Real {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// On a logarithmic scale, for which `min` must be positive.
        log: bool,
    },
    /// A whole number from `min` to `max`, both included.
    Whole {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// On a logarithmic scale; zero is as far below one as one is below two.
        log: bool,
    },
    /// One of so many things that have no order.
    Choice(usize),
}

/// A value of a dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coordinate {
    /// Of a [`Dimension::Real`].
    Real(f64),
    /// Of a [`Dimension::Whole`].
    Whole(u64),
    /// Of a [`Dimension::Choice`]: an index.
    Choice(usize),
}

/// Everything that can vary.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    dimensions: Vec<Dimension>,
}

/// Place on a scale, and back.
fn scaled(x: f64, log: bool) -> f64 {
    if log { libm::log(x) } else { x }
}

fn unscaled(x: f64, log: bool) -> f64 {
    if log { libm::exp(x) } else { x }
}

impl Dimension {
    /// The value that stands at `unit`, from 0 to 1. Whole numbers and choices have parts of the scale each.
    fn decode(self, unit: f64) -> Coordinate {
        let unit = unit.clamp(0.0, 1.0);
        match self {
            Dimension::Real { min, max, log } => {
                let (low, high) = (scaled(min, log), scaled(max, log));
                Coordinate::Real(unscaled(low + unit * (high - low), log).clamp(min, max))
            }
            Dimension::Whole { min, max, log } => {
                let (low, high) = whole_scale(min, max, log);
                let value = unscaled(low + unit * (high - low), log) - f64::from(u8::from(log));
                Coordinate::Whole((f64::floor(value) as u64).clamp(min, max))
            }
            Dimension::Choice(count) => {
                let index = f64::floor(unit * count as f64) as usize;
                Coordinate::Choice(index.min(count.saturating_sub(1)))
            }
        }
    }

    /// Where `coordinate` stands, from 0 to 1: the middle of its part.
    ///
    /// # Panics
    /// If it is of another kind.
    fn encode(self, coordinate: Coordinate) -> f64 {
        let place =
            |low: f64, high: f64, at: f64| if high > low { (at - low) / (high - low) } else { 0.5 };
        match (self, coordinate) {
            (Dimension::Real { min, max, log }, Coordinate::Real(value)) => {
                place(scaled(min, log), scaled(max, log), scaled(value, log)).clamp(0.0, 1.0)
            }
            (Dimension::Whole { min, max, log }, Coordinate::Whole(value)) => {
                let (low, high) = whole_scale(min, max, log);
                let (from, to) = whole_scale(value, value, log);
                place(low, high, (from + to) / 2.0).clamp(0.0, 1.0)
            }
            (Dimension::Choice(count), Coordinate::Choice(index)) => {
                (index as f64 + 0.5) / count as f64
            }
            _ => panic!("{coordinate:?} is no value of {self:?}"),
        }
    }

    /// How many values it has; none if that is a number of machine precision.
    fn count(self) -> Option<u64> {
        match self {
            Dimension::Real { min, max, .. } => (min == max).then_some(1),
            Dimension::Whole { min, max, .. } => (max - min).checked_add(1),
            Dimension::Choice(count) => Some(count as u64),
        }
    }
}

/// The ends of the parts that the whole numbers from `min` to `max` have of a scale. With `log` the scale is that
/// of the number and one, so that zero has a place.
fn whole_scale(min: u64, max: u64, log: bool) -> (f64, f64) {
    let (min, max) = (min as f64, max as f64);
    if log { (libm::log(min + 1.0), libm::log(max + 2.0)) } else { (min, max + 1.0) }
}

impl Space {
    /// Of `dimensions`.
    ///
    /// # Panics
    /// If there are none, or one of them has no value.
    pub fn new(dimensions: Vec<Dimension>) -> Space {
        assert!(!dimensions.is_empty(), "nothing can vary");
        for dimension in &dimensions {
            let has_values = match *dimension {
                Dimension::Real { min, max, log } => min <= max && (!log || min > 0.0),
                Dimension::Whole { min, max, .. } => min <= max,
                Dimension::Choice(count) => count > 0,
            };
            assert!(has_values, "{dimension:?} has no value");
        }
        Space { dimensions }
    }

    /// Number of dimensions.
    pub fn len(&self) -> usize {
        self.dimensions.len()
    }

    /// Whether there are none: never.
    pub fn is_empty(&self) -> bool {
        self.dimensions.is_empty()
    }

    /// The values that stand at `point` of the unit cube.
    pub fn decode(&self, point: &[f64]) -> Vec<Coordinate> {
        self.dimensions.iter().zip(point).map(|(dimension, unit)| dimension.decode(*unit)).collect()
    }

    /// Where values stand in the unit cube.
    ///
    /// # Panics
    /// If a value is of another kind than its dimension.
    pub fn encode(&self, coordinates: &[Coordinate]) -> Vec<f64> {
        let pairs = self.dimensions.iter().zip(coordinates);
        pairs.map(|(dimension, coordinate)| dimension.encode(*coordinate)).collect()
    }

    /// How many different settings there are; none if they cannot be counted.
    pub fn count(&self) -> Option<u64> {
        let mut counts = self.dimensions.iter().map(|dimension| dimension.count());
        counts.try_fold(1u64, |product, count| product.checked_mul(count?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dimension() -> impl Strategy<Value = Dimension> {
        let real = (1e-6..1e6f64, 0.0..1e6f64, any::<bool>())
            .prop_map(|(min, more, log)| Dimension::Real { min, max: min + more, log });
        let whole = (0..1u64 << 40, 0..1u64 << 40, any::<bool>())
            .prop_map(|(min, more, log)| Dimension::Whole { min, max: min + more, log });
        prop_oneof![real, whole, (1..20usize).prop_map(Dimension::Choice)]
    }

    proptest! {
        #[test]
        fn values_stay_in_their_box(dimension in dimension(), unit in -0.5..1.5f64) {
            match (dimension, dimension.decode(unit)) {
                (Dimension::Real { min, max, .. }, Coordinate::Real(value)) => {
                    prop_assert!((min..=max).contains(&value));
                }
                (Dimension::Whole { min, max, .. }, Coordinate::Whole(value)) => {
                    prop_assert!((min..=max).contains(&value));
                }
                (Dimension::Choice(count), Coordinate::Choice(index)) => prop_assert!(index < count),
                other => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn a_value_is_found_again_where_it_stands(
            min in 0..1000u64, more in 0..1000u64, log in any::<bool>(), at in 0..1000u64,
        ) {
            let dimension = Dimension::Whole { min, max: min + more, log };
            let value = Coordinate::Whole(min + at % (more + 1));
            prop_assert_eq!(dimension.decode(dimension.encode(value)), value);
        }
    }

    #[test]
    fn every_value_has_its_part() {
        let decoded = |dimension: Dimension| {
            let mut found: Vec<u64> = (0..=1000)
                .map(|step| match dimension.decode(f64::from(step) / 1000.0) {
                    Coordinate::Whole(value) => value,
                    Coordinate::Choice(index) => index as u64,
                    Coordinate::Real(_) => panic!("not whole"),
                })
                .collect();
            found.dedup();
            found
        };
        let wanted: Vec<u64> = (3..=9).collect();
        assert_eq!(decoded(Dimension::Whole { min: 3, max: 9, log: false }), wanted);
        assert_eq!(decoded(Dimension::Whole { min: 3, max: 9, log: true }), wanted);
        assert_eq!(decoded(Dimension::Whole { min: 0, max: 2, log: true }), [0, 1, 2]);
        assert_eq!(decoded(Dimension::Choice(4)), [0, 1, 2, 3]);
    }

    #[test]
    fn equal_factors_are_equally_far_apart() {
        let decode = |unit| match (Dimension::Real { min: 1.0, max: 100.0, log: true }).decode(unit)
        {
            Coordinate::Real(value) => value,
            other => panic!("{other:?}"),
        };
        assert!((decode(0.5) - 10.0).abs() < 1e-9);
        assert!((decode(0.25) - f64::sqrt(10.0)).abs() < 1e-9);
    }

    #[test]
    fn settings_are_counted() {
        let whole = Dimension::Whole { min: 1, max: 8, log: false };
        assert_eq!(Space::new(vec![whole, Dimension::Choice(3)]).count(), Some(24));
        let real = Dimension::Real { min: 0.0, max: 1.0, log: false };
        assert_eq!(Space::new(vec![whole, real]).count(), None);
        let all = Dimension::Whole { min: 0, max: u64::MAX, log: false };
        assert_eq!(Space::new(vec![all]).count(), None);
    }
}
