//! Pictures made of characters, for terminals and for mails.

use slotcast_lab::Estimate;
use slotcast_lab::sweep::{AxisFindings, MetricGrid, SweepFindings};

use crate::format::{align_right, figure, table};

/// Rows of a chart of columns; each holds eight steps of height.
const HEIGHT: usize = 8;

/// Parts of a full block, from the bottom.
pub(crate) const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Shades of a heat map.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// A ratio of the largest to the smallest value from which a heat map is shaded by logarithms.
const LOGARITHMIC: f64 = 50.0;

/// The chart that fits a sweep: columns along one axis, a heat map over two, nothing for more.
pub(crate) fn of(findings: &SweepFindings, grid: &MetricGrid) -> Option<String> {
    match &findings.axes[..] {
        [axis] => Some(columns(axis, grid)),
        [down, across] => Some(heat_map(down, across, grid)),
        _ => None,
    }
}

fn title(grid: &MetricGrid) -> String {
    match grid.unit {
        "" => grid.name.to_string(),
        unit => format!("{} ({unit})", grid.name),
    }
}

/// One column per step, from zero up to the largest value.
fn columns(axis: &AxisFindings, grid: &MetricGrid) -> String {
    let values: Vec<f64> = grid.values.iter().map(|estimate| estimate.value).collect();
    let top = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let label = |value: f64| figure(value);
    let width = axis.labels.iter().map(|label| label.chars().count()).max().unwrap_or(1).max(3);
    let margin = label(top).chars().count().max(1);

    let mut text = format!("{}\n", title(grid));
    for row in (0..HEIGHT).rev() {
        let scale = match row {
            row if row == HEIGHT - 1 => label(top),
            0 => "0".into(),
            _ => String::new(),
        };
        text.push_str(&format!("{scale:>margin$} │"));
        for &value in &values {
            let eighths = match top > 0.0 && value.is_finite() {
                true => (value / top * (HEIGHT * 8) as f64).round() as usize,
                false => 0,
            };
            let block = BLOCKS[eighths.saturating_sub(row * 8).min(8)];
            text.push(' ');
            text.extend(std::iter::repeat_n(block, width));
        }
        text = text.trim_end().to_string();
        text.push('\n');
    }
    text.push_str(&format!("{:>margin$}  ", ""));
    for label in &axis.labels {
        text.push_str(&format!(" {label:^width$}"));
    }
    format!("{}  {}\n", text.trim_end(), axis.name())
}

/// One row per step of the first axis, one column per step of the second.
fn heat_map(down: &AxisFindings, across: &AxisFindings, grid: &MetricGrid) -> String {
    let values = || grid.values.iter().map(|e| e.value).filter(|value| value.is_finite());
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    let logarithmic = low > 0.0 && high / low > LOGARITHMIC;
    let height = |value: f64| match logarithmic {
        true => (value / low).ln() / (high / low).ln(),
        false => (value - low) / (high - low),
    };
    let shade = |value: f64| match height(value) {
        height if height.is_finite() => {
            SHADES[((height * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
        }
        // All are the same, or there is nothing here.
        _ => SHADES[0],
    };
    let cell =
        |Estimate { value, .. }: &Estimate| format!("{0}{0} {1}", shade(*value), figure(*value));

    let corner = format!("{} \\ {}", down.name(), across.name());
    let header: Vec<&str> =
        std::iter::once(corner.as_str()).chain(across.labels.iter().map(String::as_str)).collect();
    let mut map = table(&header);
    for (label, row) in down.labels.iter().zip(grid.values.chunks(across.labels.len())) {
        map.add_row(std::iter::once(label.clone()).chain(row.iter().map(cell)));
    }
    align_right(&mut map, 1);
    let scale = if logarithmic { ", shaded by logarithms" } else { "" };
    let range = match low.is_finite() {
        true => format!(": {} to {} {}{scale}", figure(low), figure(high), SHADES[4]),
        false => String::new(),
    };
    format!("{}{range}\n{map}\n", title(grid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(key: &'static str, labels: &[&str]) -> AxisFindings {
        AxisFindings {
            keys: vec![key],
            labels: labels.iter().map(ToString::to_string).collect(),
            numbers: None,
        }
    }

    fn findings(axes: Vec<AxisFindings>, values: &[f64]) -> (SweepFindings, MetricGrid) {
        let values = values.iter().map(|&value| Estimate { value, ci95: None }).collect();
        let grid = MetricGrid { name: "chunks_per_s", unit: "1/s", values };
        (SweepFindings { axes, metrics: vec![grid.clone()], knees: Vec::new() }, grid)
    }

    #[test]
    fn columns_are_as_high_as_their_values() {
        let (findings, grid) =
            findings(vec![axis("workload.window", &["1", "2", "4"])], &[0.5, 1.0, 2.0]);
        let text = of(&findings, &grid).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "chunks_per_s (1/s)");
        assert_eq!(lines[1], "2.000 │         ███");
        assert_eq!(lines[8], "    0 │ ███ ███ ███");
        assert_eq!(lines[9], "         1   2   4  workload.window");
        assert_eq!(text.matches("███").count(), 2 + 4 + 8);
    }

    #[test]
    fn a_heat_map_is_darkest_where_the_value_is_largest() {
        let axes = vec![axis("protocol.kind", &["a", "b"]), axis("workload.window", &["1", "2"])];
        let (findings, grid) = findings(axes, &[1.0, 2.0, 3.0, 9.0]);
        let text = of(&findings, &grid).unwrap();
        assert!(text.contains("██ 9.000") && text.contains("   1.000"), "{text}");
        assert!(text.contains("protocol.kind \\ workload.window"), "{text}");
    }

    #[test]
    fn nothing_measured_is_no_height() {
        let (findings, grid) = findings(vec![axis("a", &["1", "2"])], &[f64::NAN, 1.0]);
        assert!(of(&findings, &grid).unwrap().contains("│     ███"));
        let axes = vec![axis("a", &["1"]), axis("b", &["1", "2"])];
        let (findings, grid) = self::findings(axes, &[f64::NAN, f64::NAN]);
        assert!(of(&findings, &grid).unwrap().contains('-'));
    }

    #[test]
    fn three_axes_have_no_picture() {
        let axes = vec![axis("a", &["1"]), axis("b", &["1"]), axis("c", &["1"])];
        let (findings, grid) = findings(axes, &[1.0]);
        assert_eq!(of(&findings, &grid), None);
    }
}
