//! Latin hypercubes (McKay, Beckman, Conover, 1979).

use slotcast_random::{Stream, Streams};

use crate::method::Optimiser;
use crate::normal::permutation;

/// `count` points, of which each of as many equal slices of each dimension has one.
pub(crate) fn latin_hypercube(
    stream: &mut Stream,
    dimensions: usize,
    count: usize,
) -> Vec<Vec<f64>> {
    let mut points = vec![vec![0.0; dimensions]; count];
    for dimension in 0..dimensions {
        for (point, slice) in points.iter_mut().zip(permutation(stream, count)) {
            point[dimension] = (slice as f64 + stream.unit()) / count as f64;
        }
    }
    points
}

/// Hypercubes as large as the budget, one after another.
pub(crate) struct LatinHypercube {
    dimensions: usize,
    count: usize,
    stream: Stream,
}

impl LatinHypercube {
    pub(crate) fn new(dimensions: usize, budget: usize, seed: u64) -> LatinHypercube {
        let stream = Streams::new(seed).stream("latin hypercube", 0);
        LatinHypercube { dimensions, count: budget.max(1), stream }
    }
}

impl Optimiser for LatinHypercube {
    fn ask(&mut self) -> Vec<Vec<f64>> {
        latin_hypercube(&mut self.stream, self.dimensions, self.count)
    }

    fn tell(&mut self, _point: &[f64], _value: f64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slice_of_each_dimension_has_one_point() {
        let points = LatinHypercube::new(3, 40, 1).ask();
        for dimension in 0..3 {
            let slices = points.iter().map(|point| f64::floor(point[dimension] * 40.0) as usize);
            let mut slices: Vec<usize> = slices.collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..40).collect::<Vec<_>>());
        }
    }
}
