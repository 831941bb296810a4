//! What the Perfetto viewer gets is what it can show: tracks whose slices do not overlap, arrows whose
//! ends lie on slices, times within the run, and nothing left open.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use slotcast_lab::Experiment;
use slotcast_sim::{Scenario, run};
use slotcast_trace::{TraceSpan, write_perfetto};

const SEED: u64 = 3;

fn scenario(text: &str) -> Scenario {
    cluster(18, 18, text)
}

fn cluster(initiators: u32, targets: u32, text: &str) -> Scenario {
    let cluster = format!("cluster.initiators = {initiators}\ncluster.targets = {targets}\n");
    let text = format!("{cluster}run.warmup = \"1ms\"\n{text}");
    let experiment = Experiment::from_toml("test.toml", &text, &[]).expect("a right file");
    experiment.points[0].scenario.clone()
}

fn written(scenario: &Scenario, seed: u64, span: TraceSpan) -> Value {
    let mut out = Vec::new();
    write_perfetto(scenario, seed, span, &mut out, &|_| {}).unwrap().unwrap();
    serde_json::from_slice(&out).expect("JSON")
}

/// A time of the trace in whole nanoseconds.
fn ns(micros: &Value) -> u64 {
    let ns = micros.as_f64().unwrap_or_else(|| panic!("{micros} is no time")) * 1000.0;
    assert!(ns >= 0.0 && (ns - ns.round()).abs() < 1e-3, "{ns} ns");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just checked")]
    let whole = ns.round() as u64;
    whole
}

type TrackId = (u64, u64);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    begin: u64,
    end: u64,
    name: String,
    cat: String,
}

/// The points of an arrow in the order of the file: phase, track and time.
type Points = Vec<(String, TrackId, u64)>;

/// A trace, taken apart and checked event by event.
struct Trace {
    slices: BTreeMap<TrackId, Vec<Slice>>,
    /// By category and id.
    flows: BTreeMap<(String, u64), Points>,
    /// By process and name: time and value.
    counters: BTreeMap<(u64, String), Vec<(u64, u64)>>,
    instants: u64,
    processes: BTreeMap<u64, String>,
}

impl Trace {
    fn read(json: &Value, end: u64) -> Trace {
        let mut trace = Trace {
            slices: BTreeMap::new(),
            flows: BTreeMap::new(),
            counters: BTreeMap::new(),
            instants: 0,
            processes: BTreeMap::new(),
        };
        let mut named = BTreeSet::new();
        let text = |value: &Value| value.as_str().expect("a text").to_string();
        for event in json["traceEvents"].as_array().expect("a list") {
            let pid = event["pid"].as_u64().expect("a process");
            let track = || (pid, event["tid"].as_u64().expect("a track"));
            let at = || {
                let at = ns(&event["ts"]);
                assert!(at <= end, "{event} after the end");
                at
            };
            match event["ph"].as_str().expect("a phase") {
                "X" => {
                    let (begin, until) = (at(), at() + ns(&event["dur"]));
                    assert!(begin < until && until <= end, "{event}");
                    let (name, cat) = (text(&event["name"]), text(&event["cat"]));
                    let slice = Slice { begin, end: until, name, cat };
                    trace.slices.entry(track()).or_default().push(slice);
                }
                phase @ ("s" | "t" | "f") => {
                    assert_eq!(phase == "f", event["bp"] == "e", "an end binds to its slice");
                    let key = (text(&event["cat"]), event["id"].as_u64().expect("an id"));
                    let point = (phase.to_string(), track(), at());
                    // The viewer binds an arrow when it comes to it: its slice must be there.
                    let known = trace.slices[&track()].iter().filter(|s| s.begin == at()).count();
                    assert_eq!(known, 1, "{event} touches no slice, or several");
                    trace.flows.entry(key).or_default().push(point);
                }
                "C" => {
                    let name = text(&event["name"]);
                    assert!(name.starts_with("disk queue"), "{name}");
                    let chunks = event["args"]["chunks"].as_u64().expect("a number");
                    trace.counters.entry((pid, name)).or_default().push((at(), chunks));
                }
                "i" => {
                    at();
                    trace.instants += 1;
                }
                "M" => match event["name"].as_str() {
                    Some("process_name") => {
                        let name = text(&event["args"]["name"]);
                        assert_eq!(trace.processes.insert(pid, name), None, "named once");
                    }
                    Some("thread_name") => assert!(named.insert(track()), "named once"),
                    Some("process_sort_index" | "thread_sort_index") => {
                        assert!(event["args"]["sort_index"].is_u64());
                    }
                    other => panic!("metadata {other:?}"),
                },
                other => panic!("phase {other}"),
            }
        }
        let tids: BTreeSet<u64> = named.iter().map(|(_, tid)| *tid).collect();
        assert_eq!(tids.len(), named.len(), "a track number is unique over all processes");
        for track in trace.slices.keys() {
            assert!(named.contains(track) && trace.processes.contains_key(&track.0), "{track:?}");
        }
        trace
    }

    fn check(&self) {
        for (track, slices) in &self.slices {
            let mut sorted = slices.clone();
            sorted.sort();
            for pair in sorted.windows(2) {
                assert!(pair[0].end <= pair[1].begin, "{track:?}: {pair:?}");
            }
        }
        for (flow, points) in &self.flows {
            let phases: String = points.iter().map(|(phase, ..)| phase.as_str()).collect();
            let inner = phases.strip_prefix('s').and_then(|p| p.strip_suffix('f'));
            assert!(inner.is_some_and(|p| p.chars().all(|c| c == 't')), "{flow:?}: {phases}");
            let in_order = points.windows(2).all(|pair| pair[0].2 <= pair[1].2);
            assert!(in_order, "{flow:?}: {points:?}");
        }
        for (disk, values) in &self.counters {
            assert!(values.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{disk:?}: {values:?}");
            let steps = values.windows(2).map(|pair| pair[0].1.abs_diff(pair[1].1));
            assert!(steps.max().unwrap_or(0) <= 1, "{disk:?}: {values:?}");
            assert_eq!(values[0], (0, 0), "a queue begins empty");
        }
    }

    fn flows_of(&self, category: &str) -> u64 {
        self.flows.keys().filter(|(cat, _)| cat == category).count() as u64
    }

    fn names(&self) -> BTreeSet<&str> {
        let all = self.slices.values().flatten();
        all.map(|slice| slice.name.split(' ').next().expect("a word")).collect()
    }
}

fn check(text: &str) -> Trace {
    let scenario = scenario(text);
    let end = slotcast_sim::measured_until(&scenario).as_ns();
    let trace = Trace::read(&written(&scenario, SEED, TraceSpan::WHOLE), end);
    trace.check();
    let report = run(&scenario, SEED).unwrap();
    assert_eq!(trace.flows_of("put"), report.counts.puts, "one arrow per completed put");
    assert_eq!(trace.flows_of("get"), report.counts.gets, "one arrow per completed get");
    assert_eq!(trace.instants, report.counts.messages_lost);
    trace
}

#[test]
fn every_protocol_gives_a_trace_that_can_be_shown() {
    for (kind, fidelity) in [
        ("replicast-m", "flow"),
        ("replicast-m", "frame"),
        ("replicast-h", "flow"),
        ("replicast-h", "frame"),
        ("replicast-proxy", "flow"),
        ("replicast-proxy", "frame"),
        ("uch-ccp", "flow"),
        ("uch-ccp", "frame"),
        ("uch-aimd", "frame"),
        ("uch-dctcp", "frame"),
    ] {
        let run = format!(
            "run.length = \"5ms\"\nprotocol.kind = \"{kind}\"\nrun.fidelity = \"{fidelity}\""
        );
        let trace = check(&run);
        assert_eq!(trace.flows_of("replica"), 2 * trace.flows_of("put"), "three replicas");
        let names = trace.names();
        let expected: &[&str] = match kind {
            "replicast-m" | "replicast-h" => {
                &["put", "put-request", "bid", "put-accept", "used", "cancelled", "chunk", "write"]
            }
            "uch-dctcp" => &["put", "chunk", "write", "replica-ack"],
            "replicast-proxy" => {
                &["put", "proxy-request", "proxy-reply", "proxy-notice", "used", "chunk", "write"]
            }
            _ => &["put", "put-request", "rate-init", "chunk", "write", "replica-ack"],
        };
        assert!(expected.iter().all(|name| names.contains(name)), "{kind}: {names:?}");
        check(&format!(
            "{run}\nworkload.get_share = \"40%\"\nworkload.window = 3\nworkload.load = \"open\""
        ));
    }
}

#[test]
fn double_booking_can_be_shown() {
    let trace = check(
        "run.length = \"5ms\"\nprotocol.kind = \"replicast-h\"\nreplicast.double_booking = true
         workload.chunk_size = \"16KiB\"\ndisk.rate = \"4000MiB/s\"",
    );
    assert!(trace.names().contains("late-reject"), "{:?}", trace.names());
}

#[test]
fn every_disk_has_a_track_and_a_counter() {
    let trace = check("run.length = \"5ms\"\ndisk.per_target = 3\nworkload.window = 3");
    let first_target = 19;
    let queues: Vec<&str> = trace
        .counters
        .keys()
        .filter(|(pid, _)| *pid == first_target)
        .map(|(_, name)| name.as_str())
        .collect();
    assert_eq!(queues, ["disk queue", "disk queue 2", "disk queue 3"]);
    let disks = trace.slices.iter().filter(|((pid, _), slices)| {
        *pid == first_target && slices.iter().any(|slice| slice.cat == "disk")
    });
    assert_eq!(disks.count(), 3);
}

#[test]
fn the_habits_of_the_original_can_be_shown() {
    // Of each protocol those that it has.
    let habits = [
        ("replicast-m", &["queued_windows", "consecutive_triples", "abandon_without_window"][..]),
        ("replicast-h", &["keep_idle_window", "avoid_previous_group"]),
        ("uch-ccp", &["free_last_frame"]),
    ];
    for (kind, quirks) in habits {
        let quirks = [quirks, &["early_statistics"]].concat();
        let quirks: String =
            quirks.into_iter().map(|quirk| format!("quirks.{quirk} = true\n")).collect();
        check(&format!("run.length = \"5ms\"\nprotocol.kind = \"{kind}\"\n{quirks}"));
    }
}

#[test]
fn faults_leave_nothing_open() {
    for kind in ["replicast-m", "replicast-h", "replicast-proxy"] {
        for fidelity in ["flow", "frame"] {
            let trace = check(&format!(
                "run.length = \"12ms\"\nprotocol.kind = \"{kind}\"\nrun.fidelity = \"{fidelity}\"
                 workload.get_share = \"25%\"
                 [faults]\nmessage_loss = \"2%\"\nmessage_duplication = \"2%\"
                 message_delay = \"20us\"\ntransfer_corruption = \"3%\"
                 targets_down = 3\ndown_at = \"2ms\"\nup_at = \"7ms\""
            ));
            let names = trace.names();
            for name in ["down", "idle", "used", "cancelled"] {
                assert!(names.contains(name), "{name}: {names:?}");
            }
            // With a proxy few windows are open at a time: it is chance whether one of three targets
            // holds one when it goes down.
            assert!(kind == "replicast-proxy" || names.contains("forgotten"), "{names:?}");
            assert!(trace.instants > 10);
        }
    }
}

#[test]
fn a_target_that_stays_down_is_shown_to_the_end() {
    let trace = check("run.length = \"4ms\"\n[faults]\ntargets_down = 1\ndown_at = \"2ms\"");
    let down: Vec<_> =
        trace.slices.values().flatten().filter(|slice| slice.cat == "outages").collect();
    assert_eq!(down.len(), 1);
    assert_eq!((down[0].begin, down[0].end), (2_000_000, 4_000_000));
}

#[test]
fn initiators_come_before_targets() {
    let trace = check("run.length = \"4ms\"");
    let names: Vec<&str> = trace.processes.values().map(String::as_str).collect();
    let expected: Vec<String> = (0..18)
        .map(|n| format!("initiator i{n}"))
        .chain((0..18).map(|n| format!("target t{n}")))
        .collect();
    assert_eq!(names, expected);
}

/// The path of the put of docs/understand/protocol.md, from slice to slice.
#[test]
fn an_arrow_goes_from_the_request_to_the_acknowledgement() {
    let scenario = cluster(1, 9, "run.length = \"2ms\"");
    let trace = Trace::read(&written(&scenario, 1, TraceSpan::WHOLE), 2_000_000);
    let path = |category: &str, number: u64| {
        let (_, points) = trace
            .flows
            .iter()
            .filter(|((cat, _), _)| cat == category)
            .nth(number as usize)
            .unwrap();
        points
            .iter()
            .map(|(_, track, at)| {
                let slice = trace.slices[track].iter().find(|s| s.begin == *at).unwrap();
                (trace.processes[&track.0].as_str(), slice.name.as_str(), *at)
            })
            .collect::<Vec<_>>()
    };
    let through = |target| {
        [
            ("initiator i0", "put 0.0", 0),
            (target, "put-request 0.0", 0),
            ("initiator i0", "bid 0.0", 3_424),
            (target, "put-accept 0.0", 6_848),
            (target, "used 0.0", 9_272),
            (target, "chunk 0.0", 10_272),
            (target, "write 0.0", 127_945),
            ("initiator i0", "replica-ack 0.0", 440_445),
        ]
    };
    assert_eq!(path("put", 0), through("target t2"), "all three end together: the first one");
    assert_eq!(path("replica", 0), through("target t7"));
    assert_eq!(path("replica", 1), through("target t8"));
}

#[test]
fn a_span_shows_the_same_as_the_whole() {
    let scenario = scenario("run.length = \"5ms\"\nprotocol.kind = \"replicast-h\"");
    let read = |span| Trace::read(&written(&scenario, SEED, span), 5_000_000);
    let (whole, part) = (read(TraceSpan::WHOLE), read("2ms..3ms".parse().unwrap()));
    let shown = |trace: &Trace| {
        let all = trace
            .slices
            .iter()
            .flat_map(|((pid, _), slices)| slices.iter().map(move |slice| (*pid, slice.clone())));
        let mut shown: Vec<_> =
            all.filter(|(_, slice)| slice.end > 2_000_000 && slice.begin < 3_000_000).collect();
        shown.sort();
        shown
    };
    assert_eq!(shown(&part), shown(&whole));
    let count = |trace: &Trace| trace.slices.values().map(Vec::len).sum::<usize>();
    assert_eq!(count(&part), shown(&part).len());
    assert!(count(&part) * 3 < count(&whole));
    assert!(part.flows_of("put") > 0 && part.flows_of("put") < whole.flows_of("put"));
}
