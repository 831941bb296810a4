//! The mixing step that the seeds of the random streams and the trace hash of the simulator share.

/// The two halves of the 128-bit product of `a` and `b`, combined by exclusive or.
///
/// One wide multiplication spreads every bit of both words over the result, and gives the same on every
/// machine. Either word alone at zero gives zero: callers combine at least one with a constant.
#[inline]
pub const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
    let low = product as u64;
    low ^ (product >> 64) as u64
}
