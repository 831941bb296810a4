//! Random numbers that optimisers need besides those of `slotcast-random`.

use slotcast_random::Stream;

/// A draw from the standard normal distribution: one of the pair of Box and Muller (1958).
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    // 1 - unit is in (0, 1].
    let radius = f64::sqrt(-2.0 * libm::log(1.0 - stream.unit()));
    radius * libm::cos(core::f64::consts::TAU * stream.unit())
}

/// A point of the unit cube, each with the same chance.
pub(crate) fn uniform(stream: &mut Stream, dimensions: usize) -> Vec<f64> {
    (0..dimensions).map(|_| stream.unit()).collect()
}

/// The numbers below `n` in random order.
pub(crate) fn permutation(stream: &mut Stream, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        let other = usize::try_from(stream.below(last as u64 + 1)).expect("an index");
        order.swap(last, other);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_random::Streams;

    #[test]
    fn normal_draws_have_the_moments_of_the_normal_distribution() {
        let mut stream = Streams::new(1).stream("test", 0);
        let draws: Vec<f64> = (0..100_000).map(|_| normal(&mut stream)).collect();
        let moment = |power: i32| {
            draws.iter().map(|x| libm::pow(*x, f64::from(power))).sum::<f64>() / draws.len() as f64
        };
        // Four standard errors: 1, 2, 15 and 96 are the variances of the first four powers.
        for (power, expected, variance) in
            [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let error = 4.0 * f64::sqrt(variance / draws.len() as f64);
            assert!((moment(power) - expected).abs() < error, "{power}: {}", moment(power));
        }
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut stream = Streams::new(1).stream("test", 0);
        let mut order = permutation(&mut stream, 100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
