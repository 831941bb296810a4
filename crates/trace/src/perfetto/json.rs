//! The events of the Chrome trace format, written one by one.
//!
//! Source of the format: "Trace Event Format" of the Chromium project. Times are in microseconds, here
//! with three decimals: whole nanoseconds.

use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use slotcast_units::Time;

use super::tracks::Track;

/// An argument of an event, shown when it is clicked at.
pub(super) type Arg = (&'static str, Value);

/// A list of events on its way to a file.
pub(super) struct Events<'a> {
    out: &'a mut dyn Write,
    is_first: bool,
    /// An observer cannot stop a run: the first error is kept, and nothing more is written.
    result: io::Result<()>,
}

#[derive(Serialize)]
struct Event<'a> {
    ph: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Of a flow's end: it belongs to the slice around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// Of an instant: its scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "no_args", serialize_with = "args_as_map")]
    args: &'a [Arg],
}

impl<'a> Event<'a> {
    fn new(ph: &'static str, name: &'a str, pid: u32) -> Event<'a> {
        Event {
            ph,
            name,
            cat: None,
            pid,
            tid: None,
            ts: None,
            dur: None,
            id: None,
            bp: None,
            s: None,
            args: &[],
        }
    }
}

fn no_args(args: &[Arg]) -> bool {
    args.is_empty()
}

fn args_as_map<S: Serializer>(args: &[Arg], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(args.len()))?;
    for (key, value) in args {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// `time` in microseconds.
pub(super) fn micros(time: Time) -> f64 {
    time.as_ns() as f64 / 1000.0
}

impl<'a> Events<'a> {
    /// Opens the list. `about` is shown with the trace.
    pub(super) fn open(out: &'a mut dyn Write, about: &Value) -> Events<'a> {
        let result = write!(
            out,
            "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {about},\n\"traceEvents\": ["
        );
        Events { out, is_first: true, result }
    }

    /// Closes the list.
    pub(super) fn close(self) -> io::Result<()> {
        self.result?;
        writeln!(self.out, "\n]}}")?;
        self.out.flush()
    }

    fn write(&mut self, event: &Event<'_>) {
        if self.result.is_err() {
            return;
        }
        let separator = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        self.result = self
            .out
            .write_all(separator.as_bytes())
            .and_then(|()| serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from));
    }

    /// Something that lasts, on a track of its own process.
    pub(super) fn slice(
        &mut self,
        track: Track,
        name: &str,
        cat: &'static str,
        (begin, end): (Time, Time),
        args: &[Arg],
    ) {
        self.write(&Event {
            cat: Some(cat),
            tid: Some(track.tid),
            ts: Some(micros(begin)),
            dur: Some((end - begin).as_us_f64()),
            args,
            ..Event::new("X", name, track.pid)
        });
    }

    /// Something that happens to a process at one moment.
    pub(super) fn instant(&mut self, pid: u32, name: &str, cat: &'static str, at: Time) {
        let (cat, ts, s) = (Some(cat), Some(micros(at)), Some("p"));
        self.write(&Event { cat, ts, s, ..Event::new("i", name, pid) });
    }

    /// The value of a counter of a process from `at` on.
    pub(super) fn counter(&mut self, pid: u32, name: &str, at: Time, args: &[Arg]) {
        self.write(&Event { ts: Some(micros(at)), args, ..Event::new("C", name, pid) });
    }

    /// One point of an arrow: it touches the slice of `track` that begins at `at`.
    pub(super) fn flow(
        &mut self,
        step: FlowStep,
        cat: &'static str,
        id: u64,
        track: Track,
        at: Time,
    ) {
        let (ph, bp) = match step {
            FlowStep::Start => ("s", None),
            FlowStep::Step => ("t", None),
            FlowStep::End => ("f", Some("e")),
        };
        self.write(&Event {
            cat: Some(cat),
            tid: Some(track.tid),
            ts: Some(micros(at)),
            id: Some(id),
            bp,
            ..Event::new(ph, cat, track.pid)
        });
    }

    /// The name of a process, and its place among the others.
    pub(super) fn process(&mut self, pid: u32, name: &str) {
        let (name, index) = (Value::from(name), Value::from(pid));
        self.write(&Event { args: &[("name", name)], ..Event::new("M", "process_name", pid) });
        let args = &[("sort_index", index)];
        self.write(&Event { args, ..Event::new("M", "process_sort_index", pid) });
    }

    /// The name of a track, and its place among those of its process.
    pub(super) fn thread(&mut self, track: Track, name: &str, index: u32) {
        let Track { pid, tid } = track;
        let metadata = |kind| Event { tid: Some(tid), ..Event::new("M", kind, pid) };
        self.write(&Event { args: &[("name", Value::from(name))], ..metadata("thread_name") });
        let args = &[("sort_index", Value::from(index))];
        self.write(&Event { args, ..metadata("thread_sort_index") });
    }
}

/// Where on an arrow a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowStep {
    Start,
    Step,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_and_a_full_one_are_json() {
        let written = |events: &[&str]| {
            let mut out = Vec::new();
            let mut list = Events::open(&mut out, &serde_json::json!({ "seed": 1 }));
            for name in events {
                let track = Track { pid: 1, tid: 2 };
                let (begin, end) = (Time::from_ns(1_001), Time::from_ns(3_500));
                list.slice(track, name, "test", (begin, end), &[("why", Value::from("so"))]);
            }
            list.close().unwrap();
            serde_json::from_slice::<Value>(&out).unwrap()
        };
        assert_eq!(written(&[])["traceEvents"], serde_json::json!([]));
        let two = written(&["one", "\"two\""]);
        let expected = serde_json::json!({
            "ph": "X", "name": "\"two\"", "cat": "test", "pid": 1, "tid": 2, "ts": 1.001, "dur": 2.499,
            "args": { "why": "so" }
        });
        assert_eq!(two["traceEvents"][1], expected);
        assert_eq!(two["otherData"]["seed"], 1);
    }
}
