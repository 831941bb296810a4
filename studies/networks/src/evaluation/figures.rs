//! Pictures: the surface over calls and networks, the same as lines, and the methods beside each other.

use slotcast_lab::{Figure, FigureKind, Figures, Findings, Series};
use slotcast_tune::Method;

use super::Measured;
use super::rows::{at, median, name, rows};

/// The networks whose lines are drawn: all thirty would hide each other.
const DRAWN: [u32; 7] = [1, 2, 3, 5, 10, 20, 30];

/// The first hundred that has a point in the published chart.
const FROM: usize = 300;

const CALLS: &str = "calls";
const DISTANCE: &str = "median distance to the optimum";

/// The medians of one point over the calls.
fn line(measured: &Measured<'_>, name: String) -> Series {
    let marks = measured.reports.first().map_or(&[][..], |report| &report.marks);
    let shown = marks.iter().enumerate().filter(|(_, mark)| mark.calls >= FROM);
    let point = |(index, mark): (usize, &crate::Mark)| {
        (mark.calls as f64, median(at(measured, index, |mark| mark.distance)))
    };
    let (x, y) = shown.map(point).unzip();
    Series::new(name, x, y)
}

fn figure(title: &str, kind: FigureKind, series: Vec<Series>) -> Figure {
    Figure { title: title.into(), kind, x: CALLS, y: DISTANCE, series }
}

/// The published picture, as colours and as lines.
pub(super) fn surface(measured: &[Measured<'_>]) -> Findings {
    let named = |measured: &Measured<'_>| {
        let count = measured.scenario.networks.count;
        line(measured, if count == 1 { "1 network".into() } else { format!("{count} networks") })
    };
    let title = "How near the best point is to the optimum of Hartmann-6";
    let all = measured.iter().map(named).collect();
    let is_drawn = |measured: &&Measured<'_>| DRAWN.contains(&measured.scenario.networks.count);
    let some = measured.iter().filter(is_drawn).map(named).collect();
    let mut figures = Figures::new();
    figures.insert("networks_surface", figure(title, FigureKind::Heat, all));
    let title = "The same for some numbers of networks";
    figures.insert("networks_lines", figure(title, FigureKind::Medians, some));
    Findings { rows: rows(measured), figures }
}

/// The other methods. A Latin hypercube has a point at its end only, so each has its own.
pub(super) fn methods(measured: &[Measured<'_>]) -> Findings {
    let mut series: Vec<Series> = Vec::new();
    for measured in measured {
        let mut line = line(measured, name(measured.scenario));
        if measured.scenario.search.method == Method::LatinHypercube {
            let last = line.x.len().saturating_sub(1);
            (line.x, line.y) = (line.x.split_off(last), line.y.split_off(last));
        }
        match series.iter_mut().find(|known| known.name == line.name) {
            Some(known) => {
                known.x.extend(line.x);
                known.y.extend(line.y);
            }
            None => series.push(line),
        }
    }
    let title = "Hartmann-6 by other methods";
    let mut figures = Figures::new();
    figures.insert("networks_methods", figure(title, FigureKind::Medians, series));
    Findings { rows: rows(measured), figures }
}
