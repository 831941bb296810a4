//! Rows: medians over the seeds, since where a search ends is chance.

use slotcast_lab::{Mode, Row, Spread};
use slotcast_tune::Method;

use super::Measured;
use crate::{Mark, Scenario};

/// The calls for which there are rows; the pictures have each hundred.
const AT: [usize; 3] = [500, 1000, 2300];

const NOTE: &str = "distance: median over the seeds, from the best point so far to the optimum; value: median of the best \
     value so far, whose maximum is 3.322; missed: part of the searches that are farther than 0.5 away, in the \
     reach of another maximum";

/// What a line is called: `10-networks`, `cma-es`.
pub(super) fn name(scenario: &Scenario) -> String {
    match scenario.search.method {
        Method::Networks => format!("{}-networks", scenario.networks.count),
        method => method.name().into(),
    }
}

/// The middle of `values`, or the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => f64::midpoint(values[(n - 1) / 2], values[n / 2]),
    }
}

/// A figure of each search after the mark with this index.
pub(super) fn at(measured: &Measured<'_>, mark: usize, of: fn(&Mark) -> f64) -> Vec<f64> {
    measured.reports.iter().filter_map(|report| report.marks.get(mark)).map(of).collect()
}

/// A row whose figure is the median.
fn median_row(id: String, samples: &[f64], unit: &'static str) -> Row {
    let row = Row::new(id, None, samples, unit, Mode::AsPublished).with_note(NOTE);
    Row { measured: median(samples.to_vec()), ci95: None, spread: Spread::of(samples), ..row }
}

/// The rows of all points. A Latin hypercube is one at its end only.
pub(super) fn rows(measured: &[Measured<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for measured in measured {
        let name = name(measured.scenario);
        let end = usize::try_from(measured.scenario.search.calls).unwrap_or(usize::MAX);
        let is_whole = |calls: usize| {
            measured.scenario.search.method != Method::LatinHypercube || calls == end
        };
        for calls in AT.into_iter().filter(|calls| is_whole(*calls)) {
            let mark = calls / crate::EVERY - 1;
            let distances = at(measured, mark, |mark| mark.distance);
            if distances.is_empty() {
                continue;
            }
            let id = |figure: &str| format!("networks/{calls}-calls/{name}/{figure}");
            rows.push(median_row(id("distance"), &distances, ""));
            rows.push(median_row(id("value"), &at(measured, mark, |mark| mark.value), ""));
            let missed: Vec<f64> =
                distances.iter().map(|distance| f64::from(u8::from(*distance > 0.5))).collect();
            rows.push(
                Row::new(id("missed"), None, &missed, "share", Mode::AsPublished).with_note(NOTE),
            );
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_values_are_below_a_median() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }
}
