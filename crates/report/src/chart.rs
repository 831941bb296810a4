//! What a picture shows, as plain data. [`crate::figure`] draws it for papers, [`crate::html`] for the
//! page, [`crate::data`] writes it out.

mod latency;

pub use latency::{MOVING_AVERAGE, cdf, latency_by_number, sample, sorted_latency};

/// One picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Names its files: small letters, digits and hyphens.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it and how it was measured.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub plot: Plot,
}

impl Chart {
    /// A picture without a caption.
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        x: Axis,
        y: Axis,
        plot: Plot,
    ) -> Chart {
        let (name, title) = (name.into(), title.into());
        Chart { name, title, caption: String::new(), x, y, plot }
    }

    /// Whether the vertical axis shows parts of a whole that come near it: then it ends at 100 %.
    pub(crate) fn is_whole(&self) -> bool {
        let Plot::Lines(lines) = &self.plot else { return false };
        let largest = lines.lines.iter().flat_map(|line| &line.y).copied().fold(0.0, f64::max);
        self.y.unit == "%" && self.y.scale == Scale::FromZero && (50.0..=100.0).contains(&largest)
    }

    /// How far the vertical axis must reach for marks that lie above all values; none if none does.
    pub(crate) fn reach(&self) -> Option<f64> {
        let (marks, highest) = match &self.plot {
            Plot::Bars(bars) if !bars.stacked => {
                let bars_of = bars.series.iter().flat_map(|series| &series.bars);
                let top = |bar: &Mean| {
                    bar.value + bar.ci95.filter(|ci95| ci95.is_finite()).unwrap_or(0.0)
                };
                (&bars.marks, bars_of.map(top).fold(0.0, f64::max))
            }
            Plot::Lines(lines) => {
                let top = |line: &Line| {
                    let at = |(place, y): (usize, &f64)| {
                        y + line.ci95.get(place).copied().unwrap_or(0.0)
                    };
                    line.y.iter().enumerate().map(at).fold(0.0, f64::max)
                };
                (&lines.marks, lines.lines.iter().map(top).fold(0.0, f64::max))
            }
            _ => return None,
        };
        let across = marks.iter().filter(|mark| mark.on == On::Y).map(|mark| mark.at);
        let mark = across.fold(0.0, f64::max);
        (mark > highest && self.y.scale == Scale::FromZero).then_some(mark * 1.06)
    }

    /// The same picture with a caption.
    #[must_use]
    pub fn with_caption(mut self, caption: impl Into<String>) -> Chart {
        self.caption = caption.into();
        self
    }
}

/// Meaning, unit and scale of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it means: `latency`.
    pub label: String,
    /// In which unit: `us`; empty for a plain number.
    pub unit: String,
    /// How values become places.
    pub scale: Scale,
}

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, around the values that there are.
    Linear,
    /// Evenly, zero included.
    FromZero,
    /// By ratio; values must be above zero, and others are not drawn.
    Log,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { label: label.into(), unit: unit.into(), scale: Scale::Linear }
    }

    /// From a text such as `latency (us)`; the unit is optional.
    pub fn parse(text: &str) -> Axis {
        match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
            Some((label, unit)) => Axis::new(label, unit),
            None => Axis::new(text, ""),
        }
    }

    /// The same axis with another scale.
    #[must_use]
    pub fn with_scale(mut self, scale: Scale) -> Axis {
        self.scale = scale;
        self
    }

    /// For people: `latency (µs)`.
    pub fn text(&self) -> String {
        match self.unit.as_str() {
            "" => self.label.clone(),
            unit => format!("{} ({})", self.label, unit_text(unit)),
        }
    }

    /// For a column of data: `latency_us`, `throughput_chunks_per_s`.
    pub fn column(&self) -> String {
        let unit = self.unit.replace('%', "percent").replace('/', " per ");
        let text = format!("{} {unit}", self.label).to_lowercase();
        let words =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("_")
    }
}

/// A unit as people write it: `µs` for `us`.
pub fn unit_text(unit: &str) -> &str {
    if unit == "us" { "µs" } else { unit }
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    /// Bars, side by side or stacked.
    Bars(Bars),
    /// Lines and clouds of points.
    Lines(Lines),
    /// A table of colours.
    Heat(Heat),
    /// Rows with coloured spans of time.
    Timeline(Timeline),
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean; not a number where nothing was measured.
    pub value: f64,
    /// Half the width of its 95 % confidence interval; none for a single run.
    pub ci95: Option<f64>,
}

impl From<f64> for Mean {
    fn from(value: f64) -> Mean {
        Mean { value, ci95: None }
    }
}

impl From<slotcast_lab::Estimate> for Mean {
    fn from(estimate: slotcast_lab::Estimate) -> Mean {
        Mean { value: estimate.value, ci95: estimate.ci95 }
    }
}

/// Bars in groups along the horizontal axis, one of each series in a group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// Names of the groups.
    pub groups: Vec<String>,
    /// The bars.
    pub series: Vec<BarSeries>,
    /// On top of one another instead of side by side; intervals are not drawn then.
    pub stacked: bool,
    /// Places of note on the vertical axis.
    pub marks: Vec<Mark>,
}

/// The bars of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct BarSeries {
    /// What they belong to.
    pub name: String,
    /// One for each group.
    pub bars: Vec<Mean>,
    /// Place in the palette.
    pub colour: usize,
    /// Drawn lighter: what something is compared with, such as a published figure.
    pub light: bool,
}

/// Lines and clouds of points over two numeric axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// The lines.
    pub lines: Vec<Line>,
    /// Places of note.
    pub marks: Vec<Mark>,
}

/// One line, or one cloud of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it belongs to.
    pub name: String,
    /// Where, in the order of drawing.
    pub x: Vec<f64>,
    /// How much: one for each `x`.
    pub y: Vec<f64>,
    /// Half the width of the 95 % confidence interval of each `y`; empty where there is none.
    pub ci95: Vec<f64>,
    /// How it is drawn.
    pub style: Style,
    /// Place in the palette.
    pub colour: usize,
}

impl Line {
    /// A plain line.
    pub fn new(name: impl Into<String>, colour: usize, x: Vec<f64>, y: Vec<f64>) -> Line {
        Line { name: name.into(), x, y, ci95: Vec::new(), style: Style::Line, colour }
    }

    /// The same line, drawn otherwise.
    #[must_use]
    pub fn with_style(mut self, style: Style) -> Line {
        self.style = style;
        self
    }

    /// A line over `means`, with their intervals where every one of them has one.
    pub fn of_means(name: impl Into<String>, colour: usize, x: Vec<f64>, means: &[Mean]) -> Line {
        let y = means.iter().map(|mean| mean.value).collect();
        let ci95: Option<Vec<f64>> = means.iter().map(|mean| mean.ci95).collect();
        let line = Line::new(name, colour, x, y).with_style(Style::Marked);
        Line { ci95: ci95.unwrap_or_default(), ..line }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line; its intervals are a band.
    Line,
    /// Points that are not joined.
    Points,
    /// A line with a point at each value; its intervals are error bars.
    Marked,
    /// A line that keeps each value until the next one.
    Steps,
}

/// A place of note on one axis, drawn as a dashed line across.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Which axis.
    pub on: On,
    /// Where on it.
    pub at: f64,
    /// What is there; may be empty.
    pub label: String,
    /// Place in the palette of the line that it belongs to, if it belongs to one.
    pub colour: Option<usize>,
}

/// One of the two axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The horizontal axis.
    X,
    /// The vertical axis.
    Y,
}

/// A value for each pair of two categories.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heat {
    /// Names along the horizontal axis.
    pub columns: Vec<String>,
    /// Names along the vertical axis, from the bottom.
    pub rows: Vec<String>,
    /// One list for each row with one value for each column; not a number where there is none.
    pub values: Vec<Vec<f64>>,
    /// What the values mean.
    pub label: String,
    /// Their unit.
    pub unit: String,
}

/// Rows with spans of time, coloured by state. The unit of time is that of the horizontal axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    /// What a span can be.
    pub states: Vec<State>,
    /// The spans.
    pub spans: Vec<Span>,
}

/// What a span of a timeline can be.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Its colour, as `#rrggbb`.
    pub colour: String,
    /// Part of the row's height that its spans take, from 0 to 1: a narrow span shows on a wide one.
    pub height: f64,
}

/// One span of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Index of its row.
    pub row: usize,
    /// Index of its state.
    pub state: usize,
    /// Where it starts.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// What it is for; may be empty.
    pub label: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_says_its_unit() {
        let axis = Axis::parse("latency (us)");
        assert_eq!((axis.text(), axis.column()), ("latency (µs)".into(), "latency_us".into()));
        let axis = Axis::parse("throughput (chunks/s)");
        assert_eq!(axis.column(), "throughput_chunks_per_s");
        assert_eq!(Axis::parse("put").column(), "put");
        assert_eq!(Axis::new("disk utilisation", "%").column(), "disk_utilisation_percent");
    }

    #[test]
    fn a_line_has_intervals_for_all_or_for_none() {
        let with = Mean { value: 1.0, ci95: Some(0.5) };
        assert_eq!(Line::of_means("a", 0, vec![1.0, 2.0], &[with, with]).ci95, [0.5, 0.5]);
        let line = Line::of_means("a", 0, vec![1.0, 2.0], &[with, 2.0.into()]);
        assert_eq!((line.y, line.ci95), (vec![1.0, 2.0], vec![]));
    }
}
