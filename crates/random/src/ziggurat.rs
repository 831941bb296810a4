//! The standard exponential distribution by the ziggurat method (Marsaglia and Tsang, 2000).
//!
//! The area below exp(-x) is cut into 256 layers of equal area. A point in a random layer lies nearly
//! always in the part where no logarithm is needed, which is what makes this several times faster than
//! inverting the distribution. The tables are computed by the compiler with the four basic operations
//! alone, and the rare rest uses `libm` in software, so that every platform draws the same bits.

const LAYERS: usize = 256;

/// Where the lowest layer ends and the tail begins, and the area of each layer, for 256 layers.
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 0.003_949_659_822_581_557;

/// The right ends of the layers from the lowest to the top, and the density there.
static ENDS: [f64; LAYERS + 1] = tables().0;
static DENSITIES: [f64; LAYERS + 1] = tables().1;

/// Draws from the exponential distribution with mean 1.
#[inline]
pub(crate) fn exponential(mut next_u64: impl FnMut() -> u64) -> f64 {
    loop {
        let bits = next_u64();
        let layer = (bits % LAYERS as u64) as usize;
        let x = unit(bits) * ENDS[layer];
        if x < ENDS[layer + 1] {
            return x;
        }
        if let Some(x) = outside(layer, x, unit(next_u64())) {
            return x;
        }
    }
}

/// The highest 53 bits as a number in [0, 1).
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// What becomes of a point that is not below the layer above: about one in a hundred.
#[cold]
fn outside(layer: usize, x: f64, unit: f64) -> Option<f64> {
    if layer == 0 {
        // The tail of this distribution looks like the whole. 1 - unit is in (0, 1].
        return Some(TAIL - libm::log(1.0 - unit));
    }
    let (low, high) = (DENSITIES[layer], DENSITIES[layer + 1]);
    (low + (high - low) * unit < libm::exp(-x)).then_some(x)
}

const fn tables() -> ([f64; LAYERS + 1], [f64; LAYERS + 1]) {
    let (mut ends, mut densities) = ([0.0; LAYERS + 1], [1.0; LAYERS + 1]);
    // The lowest layer is as wide as a rectangle of its area would be, tail included.
    ends[0] = AREA / exp_minus(TAIL);
    densities[0] = exp_minus(ends[0]);
    ends[1] = TAIL;
    densities[1] = exp_minus(TAIL);
    let mut i = 2;
    while i < LAYERS {
        densities[i] = densities[i - 1] + AREA / ends[i - 1];
        ends[i] = minus_ln(densities[i], ends[i - 1]);
        i += 1;
    }
    (ends, densities)
}

/// exp(-x) from its series, for 0 <= x < 16.
const fn exp_minus(x: f64) -> f64 {
    let small = -x / 32.0;
    let (mut term, mut sum, mut n) = (1.0, 1.0, 1.0);
    while n < 20.0 {
        term *= small / n;
        sum += term;
        n += 1.0;
    }
    let mut squarings = 0;
    while squarings < 5 {
        sum *= sum;
        squarings += 1;
    }
    sum
}

/// -ln(y) by Newton's method from a start that is not less.
const fn minus_ln(y: f64, start: f64) -> f64 {
    let (mut x, mut steps) = (start, 0);
    while steps < 10 {
        x += 1.0 - y / exp_minus(x);
        steps += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_agree_with_the_mathematical_functions() {
        for layer in 1..=LAYERS {
            assert!((DENSITIES[layer] - libm::exp(-ENDS[layer])).abs() < 1e-13, "layer {layer}");
        }
    }

    #[test]
    fn all_layers_have_the_same_area() {
        for layer in 1..LAYERS {
            let area = ENDS[layer] * (DENSITIES[layer + 1] - DENSITIES[layer]);
            assert!((area - AREA).abs() < 1e-12, "layer {layer}: {area}");
        }
    }
}
