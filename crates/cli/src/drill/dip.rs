//! How far the throughput of a job dips at a fault, and how long.

use serde::Serialize;

use super::watch::Sample;

/// A rate is that over so long, since objects come in pages.
const WINDOW_MS: u64 = 500;

/// The part of its rate before a fault at which a job counts as back.
const BACK: f64 = 0.8;

/// What a fault did to a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Dip {
    /// Objects that were there when the fault came.
    pub(super) objects_before: u64,
    /// Milliseconds from the fault to the next object; none if all were there already.
    pub(super) going_on_ms: Option<u64>,
    /// Objects a second from the beginning of the job to the fault, or to the last object if that came first.
    pub(super) before_per_s: f64,
    /// The lowest rate over half a second after the fault, while objects were to come.
    pub(super) dip_per_s: Option<f64>,
    /// How much less that is, in percent of the rate before.
    pub(super) dip_percent: Option<f64>,
    /// Milliseconds from the fault until that rate is 80 % of the one before, at its lowest or after it; none if it never was.
    pub(super) back_ms: Option<u64>,
}

/// Objects that are there at a moment, between two samples as if they came evenly.
fn objects_at(samples: &[Sample], at_ms: u64) -> f64 {
    let after = samples.partition_point(|sample| sample.at_ms <= at_ms);
    let none = Sample { at_ms: 0, objects: 0, bytes: 0 };
    let before = after.checked_sub(1).map_or(none, |place| samples[place]);
    let Some(next) = samples.get(after) else { return before.objects as f64 };
    let part = (at_ms - before.at_ms) as f64 / (next.at_ms - before.at_ms) as f64;
    before.objects as f64 + part * (next.objects as f64 - before.objects as f64)
}

/// Objects a second in the time from one moment to another.
pub(super) fn rate(samples: &[Sample], from_ms: u64, to_ms: u64) -> f64 {
    let gained = objects_at(samples, to_ms) - objects_at(samples, from_ms);
    if to_ms > from_ms { gained * 1e3 / (to_ms - from_ms) as f64 } else { 0.0 }
}

/// When all objects were there that ever were.
pub(super) fn complete_ms(samples: &[Sample]) -> u64 {
    let most = samples.iter().map(|sample| sample.objects).max().unwrap_or(0);
    let first = samples.iter().find(|sample| sample.objects == most);
    first.map_or(0, |sample| sample.at_ms)
}

/// What a fault at `fault_ms` did.
pub(super) fn of(samples: &[Sample], fault_ms: u64) -> Dip {
    let there = samples.iter().take_while(|sample| sample.at_ms <= fault_ms).last();
    let objects_before = there.map_or(0, |sample| sample.objects);
    let complete = complete_ms(samples);
    let before_per_s = rate(samples, 0, fault_ms.min(complete));
    let mut after = samples.iter().skip_while(|sample| sample.at_ms <= fault_ms);
    let next = after.find(|sample| sample.objects > objects_before);
    let going_on_ms = next.map(|sample| sample.at_ms - fault_ms);
    let mut dip = Dip { objects_before, going_on_ms, before_per_s, ..Dip::default() };
    if going_on_ms.is_none() || before_per_s <= 0.0 {
        return dip;
    }
    let ends = || samples.iter().map(|sample| sample.at_ms);
    let window = |end: u64| rate(samples, end - WINDOW_MS, end);
    let whole = ends().filter(|end| (fault_ms + WINDOW_MS..=complete).contains(end));
    let lowest = whole.clone().min_by(|one, other| window(*one).total_cmp(&window(*other)));
    // The rest may have come in less than half a second.
    let per_s = match lowest {
        Some(end) => window(end),
        None => rate(samples, fault_ms, complete.max(fault_ms + 1)),
    };
    dip.dip_per_s = Some(per_s);
    dip.dip_percent = Some(((1.0 - per_s / before_per_s) * 100.0).max(0.0));
    let is_back =
        |end: &u64| lowest.is_some_and(|low| *end >= low) && window(*end) >= BACK * before_per_s;
    dip.back_ms = whole.clone().find(is_back).map(|end| end - fault_ms);
    dip
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples each 100 ms, with so many objects more in each.
    fn samples(gains: &[u64]) -> Vec<Sample> {
        let mut objects = 0;
        let sample = |(n, gain): (usize, &u64)| {
            objects += gain;
            Sample { at_ms: n as u64 * 100, objects, bytes: objects * 10 }
        };
        gains.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_rate_that_falls_to_nothing_and_comes_back_is_measured() {
        let gains = [vec![10; 11], vec![0; 10], vec![10; 20], vec![0; 10]].concat();
        let samples = samples(&gains);
        let dip = of(&samples, 1000);
        assert_eq!((dip.objects_before, dip.going_on_ms), (110, Some(1100)));
        assert!((dip.before_per_s - 100.0).abs() < 1.0, "{dip:?}");
        assert_eq!((dip.dip_per_s, dip.dip_percent), (Some(0.0), Some(100.0)));
        // Four of five samples bring ten objects each.
        assert_eq!(dip.back_ms, Some(1400));
        assert_eq!(complete_ms(&samples), 4000);
    }

    #[test]
    fn a_rate_is_back_after_it_was_lowest() {
        let gains = [vec![10; 21], vec![0; 10], vec![10; 20]].concat();
        let dip = of(&samples(&gains), 1000);
        assert_eq!((dip.going_on_ms, dip.dip_percent), (Some(100), Some(100.0)));
        assert_eq!(dip.back_ms, Some(2400));
    }

    #[test]
    fn a_rate_that_goes_on_does_not_dip() {
        let dip = of(&samples(&[10; 40]), 1000);
        assert_eq!(dip.going_on_ms, Some(100));
        assert!(dip.dip_percent.is_some_and(|percent| percent < 1.0), "{dip:?}");
        assert!(dip.back_ms.is_some(), "{dip:?}");
    }

    #[test]
    fn a_fault_after_the_last_object_does_nothing() {
        let dip = of(&samples(&[vec![10; 10], vec![0; 10]].concat()), 1500);
        assert_eq!((dip.objects_before, dip.going_on_ms, dip.dip_percent), (100, None, None));
        assert!((dip.before_per_s - 100.0).abs() < 20.0, "{dip:?}");
        assert_eq!(of(&[], 0), Dip::default());
    }
}
