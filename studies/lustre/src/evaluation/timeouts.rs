//! RPCs that time out, and early replies that prevent it.

use slotcast_lab::{Figure, FigureKind, Figures, Findings, Series};

use super::published;
use super::rows::{at, row};
use super::runs::Measured;

/// Part of the RPCs that timed out, in percent.
fn late(measured: &Measured) -> Vec<f64> {
    measured.per_seed(|report| report.timeouts.late as f64 / report.timeouts.rpcs as f64 * 100.0)
}

/// The slides: four rules.
pub(super) fn slides(measured: &[Measured]) -> Findings {
    let row = |(rule, published): (&'static str, f64)| {
        let measured = at(measured, &[("timeout.rule", rule)])?;
        let id = format!("timeouts/slides/{rule}");
        Some(row(id, Some(published), &late(measured), "%"))
    };
    let rows = published::timeout_rates().filter_map(row).collect();
    Findings { rows, figures: Figures::new() }
}

/// The paper's table: three estimators, by the factor between estimate and timeout.
pub(super) fn by_factor(measured: &[Measured]) -> Findings {
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for rule in ["max", "lcf", "aet"] {
        let line = |name: &str| Series::new(format!("{rule}, {name}"), Vec::new(), Vec::new());
        let (mut said, mut found) = (line("published"), line("measured"));
        for table in published::timeouts_by_factor().filter(|table| table.rule == rule) {
            let stretch = format!("{}%", table.factor_pct);
            let wanted = [("timeout.rule", rule), ("timeout.stretch", stretch.as_str())];
            let Some(measured) = at(measured, &wanted) else { continue };
            let factor = f64::from(table.factor_pct) / 100.0;
            let place = format!("timeouts/factor-{factor}/{rule}");
            let rate = late(measured);
            for (series, y) in [(&mut said, table.rate_pct), (&mut found, rate[0])] {
                series.x.push(factor);
                series.y.push(y);
            }
            rows.push(row(format!("{place}/rate"), Some(table.rate_pct), &rate, "%"));
            let used = measured.per_seed(|report| report.timeouts.mean_used);
            rows.push(row(format!("{place}/used"), Some(table.used), &used, "of the timeout"));
        }
        series.extend([said, found]);
    }
    let title = "RPCs that time out, by the factor between estimate and timeout";
    let figure = Figure {
        title: title.into(),
        kind: FigureKind::Lines,
        x: "factor between estimate and timeout",
        y: "RPCs that time out (%)",
        series,
    };
    Findings { rows, figures: Figures::from([("lustre-timeouts", figure)]) }
}

/// The paper's table of early replies.
pub(super) fn early_replies(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for table in published::early_replies() {
        let wanted = [("timeout.early", table.strategy), ("timeout.rule", table.rule)];
        let Some(measured) = at(measured, &wanted) else { continue };
        let place = format!("early-replies/{}/{}", table.strategy, table.rule);
        for (replies, published) in (1..).zip(table.by_replies) {
            let samples = measured.per_seed(|report| {
                report.timeouts.by_early_replies.get(replies).map_or(0.0, |rpcs| *rpcs as f64)
            });
            let published = (published > 0.0).then_some(published);
            rows.push(row(format!("{place}/rpcs_with_{replies}"), published, &samples, "RPCs"));
        }
        let total = measured.per_seed(|report| report.timeouts.early_replies() as f64);
        rows.push(row(format!("{place}/total"), Some(table.total), &total, "messages"));
        rows.push(row(format!("{place}/timeouts"), None, &late(measured), "%"));
    }
    Findings { rows, figures: Figures::new() }
}
