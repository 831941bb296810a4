//! The events of a run as text: one line per event, in fixed columns.

use std::io::{self, Write};

use slotcast_lab::{InputError, Progress, Watch};
use slotcast_sim::{Observer, Scenario, TraceLine};
use slotcast_units::Time;

/// Runs `scenario` with `seed` and writes a header and one line per event to `out`.
///
/// # Errors
/// If the scenario cannot be run, or the first error of `out`.
pub fn write_events(
    scenario: &Scenario,
    seed: u64,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<io::Result<()>, Box<InputError>> {
    let result = header(out);
    let watch = Watch::new(scenario, progress);
    let mut writer = Writer { out, result, watch };
    slotcast_sim::run_observed(scenario, seed, &mut writer)
        .map_err(|error| InputError::plain(format!("this cannot be run: {error}")))?;
    writer.watch.finish();
    let Writer { out, result, .. } = writer;
    Ok(result.and_then(|()| out.flush()))
}

fn header(out: &mut dyn Write) -> io::Result<()> {
    line(out, "time_us", "sequence", "place", "kind", "request", "detail")
}

fn line(
    out: &mut dyn Write,
    time: &str,
    sequence: &str,
    place: &str,
    kind: &str,
    request: &str,
    detail: &str,
) -> io::Result<()> {
    let line = format!("{time:>14} {sequence:>10} {place:<6} {kind:<16} {request:<12} {detail}");
    writeln!(out, "{}", line.trim_end())
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    /// An observer cannot stop a run: the first error is kept, and nothing more is written.
    result: io::Result<()>,
    watch: Watch<'a>,
}

impl Observer for Writer<'_> {
    fn progress(&mut self, reached: Time) {
        self.watch.progress(reached);
    }

    fn wants_events(&self) -> bool {
        self.result.is_ok()
    }

    fn event(&mut self, event: TraceLine) {
        if self.result.is_err() {
            return;
        }
        let ns = event.at.as_ns();
        self.result = line(
            self.out,
            &format!("{}.{:03}", ns / 1000, ns % 1000),
            &event.sequence.to_string(),
            &event.place.to_string(),
            event.kind,
            &event.request,
            &event.detail,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_sim::Place;

    #[test]
    fn an_event_is_one_line_in_fixed_columns() {
        let mut out = Vec::new();
        header(&mut out).unwrap();
        let watch = Watch::new(&Scenario::default(), &|_| {});
        let mut writer = Writer { out: &mut out, result: Ok(()), watch };
        writer.event(TraceLine {
            at: Time::from_ns(12_345_678),
            sequence: 42,
            place: Place::Target(7),
            kind: "bid",
            request: "3.1".into(),
            detail: "12350.000us..12480.000us".into(),
        });
        let text = String::from_utf8(out).unwrap();
        let expected = [
            "       time_us   sequence place  kind             request      detail\n",
            "     12345.678         42 t7     bid              3.1          12350.000us..12480.000us\n",
        ];
        assert_eq!(text, expected.concat());
    }
}
