//! Fewer points, for a screen and for a page: what is left out must not be missed.

/// The indices of about `limit` of the points, in order; all of them if there are no more.
///
/// Half of them are spread evenly over the points, so that a cloud keeps its density. The other half
/// are the smallest and the largest value of each of `limit / 4` equal stretches, so that no spike is
/// lost. In a rising line (a distribution) a quarter of all points is spent on its last hundredth,
/// which is what people look at.
pub(crate) fn thin(y: &[f64], limit: usize) -> Vec<usize> {
    if y.len() <= limit {
        return (0..y.len()).collect();
    }
    let tail = y.len() - y.len() / 100;
    let mut kept = if y.is_sorted() && y.len() - tail > limit / 4 {
        let mut kept = spread(&y[..tail], 0, limit * 3 / 4);
        kept.extend(spread(&y[tail..], tail, limit / 4));
        kept
    } else {
        spread(y, 0, limit)
    };
    kept.extend([0, y.len() - 1]);
    kept.sort_unstable();
    kept.dedup();
    kept
}

fn spread(y: &[f64], offset: usize, limit: usize) -> Vec<usize> {
    if y.len() <= limit {
        return (offset..offset + y.len()).collect();
    }
    let even = (limit / 2).max(1);
    let mut kept: Vec<usize> = (0..even).map(|i| i * y.len() / even).collect();
    let stretches = (limit / 4).max(1);
    for i in 0..stretches {
        let (from, to) = (i * y.len() / stretches, (i + 1) * y.len() / stretches);
        let stretch = || (from..to).filter(|&at| y[at].is_finite());
        kept.extend(stretch().min_by(|&a, &b| y[a].total_cmp(&y[b])));
        kept.extend(stretch().max_by(|&a, &b| y[a].total_cmp(&y[b])));
    }
    kept.into_iter().map(|at| at + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_distribution_keeps_its_tail() {
        let y: Vec<f64> = (0..100_000).map(f64::from).collect();
        let kept = thin(&y, 1000);
        let tail = kept.iter().filter(|&&at| at >= 99_000).count();
        assert!((200..=260).contains(&tail), "{tail}");
    }

    proptest! {
        #[test]
        fn extremes_and_ends_are_kept_in_order(
            y in prop::collection::vec(-1e6..1e6f64, 1..3000),
            limit in 8usize..500,
        ) {
            let kept = thin(&y, limit);
            prop_assert!(kept.is_sorted_by(|a, b| a < b));
            prop_assert!(kept.len() <= limit.max(8) + 8);
            let of = |pick: fn(f64, f64) -> f64, list: &mut dyn Iterator<Item = f64>| list.reduce(pick);
            prop_assert_eq!(
                of(f64::max, &mut kept.iter().map(|&at| y[at])),
                of(f64::max, &mut y.iter().copied())
            );
            prop_assert_eq!(
                of(f64::min, &mut kept.iter().map(|&at| y[at])),
                of(f64::min, &mut y.iter().copied())
            );
            prop_assert_eq!((kept[0], kept[kept.len() - 1]), (0, y.len() - 1));
        }
    }
}
