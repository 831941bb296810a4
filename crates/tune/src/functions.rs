//! Functions with a known maximum, on which optimisers are compared.

/// Where Hartmann-6 has its maximum.
pub const HARTMANN_6_AT: [f64; 6] = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573];

/// The maximum of Hartmann-6 as it is returned: over [`HARTMANN_6_SCALE`].
pub const HARTMANN_6_MAX: f64 = 3.322_37 / HARTMANN_6_SCALE;

/// What Hartmann-6 is divided by, so that its values are between 0 and 1.
pub const HARTMANN_6_SCALE: f64 = 3.33;

/// The largest value of [`branin`].
pub const BRANIN_MAX: f64 = -0.397_887;

const HARTMANN_A: [[f64; 6]; 4] = [
    [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
    [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
    [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
    [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
];

const HARTMANN_C: [f64; 4] = [1.0, 1.2, 3.0, 3.2];

const HARTMANN_P: [[f64; 6]; 4] = [
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
];

/// Hartmann's function of six variables, to be maximised, over [`HARTMANN_6_SCALE`]. It has six local
/// maxima; the second largest, 3.203, lies at (0.405, 0.882, 0.846, 0.574, 0.139, 0.038).
pub fn hartmann_6(x: &[f64]) -> f64 {
    let hills = HARTMANN_C.iter().zip(HARTMANN_A.iter().zip(&HARTMANN_P));
    let height = |(c, (a, p)): (&f64, (&[f64; 6], &[f64; 6]))| {
        let distances = x.iter().zip(a.iter().zip(p)).map(|(x, (a, p))| a * (x - p) * (x - p));
        c * libm::exp(-distances.sum::<f64>())
    };
    hills.map(height).sum::<f64>() / HARTMANN_6_SCALE
}

/// Branin's function on its usual rectangle, which the unit square stands for, with its sign changed: three
/// equal maxima.
pub fn branin(x: &[f64]) -> f64 {
    use core::f64::consts::PI;
    let (a, b) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
    let bow = b - 5.1 / (4.0 * PI * PI) * a * a + 5.0 / PI * a - 6.0;
    -(bow * bow + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * libm::cos(a) + 10.0)
}

/// A paraboloid whose maximum, 0, lies at 0.3 in each dimension.
pub fn sphere(x: &[f64]) -> f64 {
    -x.iter().map(|x| (x - 0.3) * (x - 0.3)).sum::<f64>()
}

/// The distance between two points.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    f64::sqrt(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maxima_are_where_the_literature_has_them() {
        assert!((hartmann_6(&HARTMANN_6_AT) - HARTMANN_6_MAX).abs() < 1e-5);
        let second = hartmann_6(&[0.40465, 0.88244, 0.84610, 0.57399, 0.13893, 0.03850]);
        assert!((second * HARTMANN_6_SCALE - 3.203_16).abs() < 1e-4, "{second}");
        for at in
            [[-core::f64::consts::PI, 12.275], [core::f64::consts::PI, 2.275], [9.424_78, 2.475]]
        {
            let value = branin(&[(at[0] + 5.0) / 15.0, at[1] / 15.0]);
            assert!((value - BRANIN_MAX).abs() < 1e-5, "{value}");
        }
        assert_eq!(sphere(&[0.3, 0.3, 0.3]), 0.0);
        assert_eq!(distance(&[0.0, 3.0], &[4.0, 0.0]), 5.0);
    }

    #[test]
    fn a_maximum_is_one() {
        for dimension in 0..6 {
            for step in [-1e-3, 1e-3] {
                let mut beside = HARTMANN_6_AT;
                beside[dimension] += step;
                assert!(hartmann_6(&beside) < hartmann_6(&HARTMANN_6_AT), "{dimension} {step}");
            }
        }
    }
}
