use slotcast_engine::Stream;
use slotcast_units::Share;

/// Zipf's law over a number of things: the chance of the n-th is as 1 / n^exponent.
#[derive(Debug)]
pub(super) struct Zipf {
    /// The chance of each one or any before it.
    up_to: Vec<f64>,
}

impl Zipf {
    pub(super) fn new(count: u32, exponent: Share) -> Zipf {
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = (1..=count)
            .map(|rank| {
                sum += libm::pow(f64::from(rank), -exponent.as_f64());
                sum
            })
            .collect();
        up_to.iter_mut().for_each(|chance| *chance /= sum);
        Zipf { up_to }
    }

    /// One of them, counted from zero. Complexity: O(log n).
    pub(super) fn draw(&self, random: &mut Stream) -> u32 {
        let drawn = random.unit();
        let index = self.up_to.partition_point(|chance| *chance <= drawn);
        u32::try_from(index.min(self.up_to.len() - 1)).expect("no more than were asked for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_engine::Streams;

    #[test]
    fn draws_follow_the_law() {
        let mut random = Streams::new(1).stream("zipf", 0);
        let law = Zipf::new(1000, Share::ONE);
        let draws = 100_000;
        let mut counts = vec![0u32; 1000];
        (0..draws).for_each(|_| counts[law.draw(&mut random) as usize] += 1);
        let harmonic: f64 = (1..=1000).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1u32, 2, 10] {
            let expected = f64::from(draws) / f64::from(rank) / harmonic;
            let found = f64::from(counts[rank as usize - 1]);
            assert!(
                (found - expected).abs() < 5.0 * expected.sqrt(),
                "{rank}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn an_exponent_of_zero_prefers_none() {
        let mut random = Streams::new(1).stream("zipf", 0);
        let law = Zipf::new(4, Share::ZERO);
        let mut counts = [0u32; 4];
        (0..40_000).for_each(|_| counts[law.draw(&mut random) as usize] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
    }
}
