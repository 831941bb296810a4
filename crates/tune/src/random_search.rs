//! Points at random.

use slotcast_random::{Stream, Streams};

use crate::method::Optimiser;
use crate::normal::uniform;

/// Each point with the same chance, whatever was found before.
pub(crate) struct RandomSearch {
    dimensions: usize,
    stream: Stream,
}

impl RandomSearch {
    pub(crate) fn new(dimensions: usize, seed: u64) -> RandomSearch {
        RandomSearch { dimensions, stream: Streams::new(seed).stream("random search", 0) }
    }
}

impl Optimiser for RandomSearch {
    fn ask(&mut self) -> Vec<Vec<f64>> {
        vec![uniform(&mut self.stream, self.dimensions)]
    }

    fn tell(&mut self, _point: &[f64], _value: f64) {}
}
