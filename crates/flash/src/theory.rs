//! What theory says of greedy cleaning under writes that are spread evenly over all logical pages.
//!
//! A block is filled, then loses its valid pages one by one: with k left it loses the next at a rate that is in
//! proportion to k. So the number of blocks with k valid pages is in proportion to 1/k, from a full block down to
//! the number x at which one is cleaned (Bux and Iliadis, *Performance of greedy garbage collection in flash-based
//! solid-state drives*, 2010; Desnoyers, *Analytic modeling of SSD write performance*, 2012). The mean over these
//! blocks is the utilization, which gives x; and of every block of n pages that is cleaned, n - x + 1 are free for
//! the user's.

/// Pages programmed for each page that is written, with blocks of `pages_per_block` that are filled to `utilization`
/// on average: the logical pages over the pages of all blocks that are neither open nor free.
///
/// # Panics
/// If `utilization` is not between 0 and 1, both excluded, or a block has no pages.
pub fn greedy_write_amplification(utilization: f64, pages_per_block: u32) -> f64 {
    assert!(utilization > 0.0 && utilization < 1.0 && pages_per_block > 0);
    let pages = f64::from(pages_per_block);
    // The mean of a block, if blocks are cleaned at x valid pages, grows with x.
    let mean = |x: f64| (pages - x + 1.0) / (harmonic(pages) - harmonic(x - 1.0));
    // Below that utilization every block is empty when its turn comes.
    let (mut low, mut high) = (1.0, pages);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if mean(middle) < utilization * pages { low = middle } else { high = middle }
    }
    pages / (pages - low + 1.0)
}

/// The sum of 1/k up to `x`, continued between the whole numbers; `x` is more than minus one.
fn harmonic(x: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let mut below = 0.0;
    let mut x = x;
    while x < 16.0 {
        x += 1.0;
        below += 1.0 / x;
    }
    let square = x * x;
    let log = libm::log(x);
    log + EULER + 0.5 / x - 1.0 / (12.0 * square) + 1.0 / (120.0 * square * square) - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonic_numbers_are_sums() {
        for n in [0u32, 1, 2, 5, 16, 100] {
            let sum: f64 = (1..=n).map(|k| 1.0 / f64::from(k)).sum();
            assert!((harmonic(f64::from(n)) - sum).abs() < 1e-9, "{n}");
        }
    }

    /// With ever larger blocks the part z that is valid when a block is cleaned solves u = (z - 1) / ln z.
    #[test]
    fn large_blocks_come_to_the_limit_that_is_published() {
        for utilization in [0.5, 0.7, 0.9] {
            let found = greedy_write_amplification(utilization, 1_000_000);
            let valid = 1.0 - 1.0 / found;
            let expected = (valid - 1.0) / libm::log(valid);
            assert!((expected - utilization).abs() < 1e-3, "{utilization}: {found}");
        }
    }

    #[test]
    fn fuller_devices_and_larger_blocks_program_more() {
        let of = greedy_write_amplification;
        assert!(of(0.9, 64) > of(0.8, 64) && of(0.8, 64) > of(0.5, 64));
        assert!(of(0.8, 128) > of(0.8, 16));
        // With a single page to a block nothing is ever moved.
        assert!((of(0.8, 1) - 1.0).abs() < 1e-6);
    }
}
