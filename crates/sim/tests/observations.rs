//! What an onlooker hears of a run is complete, agrees with its report, and changes nothing.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use slotcast_sim::{
    ClosedWindow, Cluster, Course, Fate, Faults, Fidelity, Load, Observation, Observer, Operation,
    Outcome, Place, Protocol, ProtocolKind, Quirks, RequestId, Run, RunReport, Scenario, Way,
    Window, Workload, measured_until, run, run_observed,
};
use slotcast_units::{Rate, Share, Size, Span, Time};

#[derive(Default)]
struct Heard(Vec<Observation>);

impl Observer for Heard {
    fn wants_observations(&self) -> bool {
        true
    }

    fn observe(&mut self, observation: Observation) {
        self.0.push(observation);
    }
}

fn hear(scenario: &Scenario) -> (RunReport, Vec<Observation>) {
    let mut heard = Heard::default();
    let report = run_observed(scenario, 7, &mut heard).unwrap();
    (report, heard.0)
}

const REPLICAST: [ProtocolKind; 3] =
    [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::ReplicastProxy];

fn base(kind: ProtocolKind, fidelity: Fidelity) -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 18, targets: 18, ..Cluster::default() },
        protocol: Protocol { kind },
        run: Run { length: Span::from_ms(6), warmup: Span::ZERO, fidelity },
        ..Scenario::default()
    }
}

/// Scenarios without faults: puts alone, puts beside gets, and the original's habits.
fn healthy() -> Vec<Scenario> {
    use Fidelity::{Flow, Frame};
    use ProtocolKind::{ReplicastH, ReplicastM, ReplicastProxy, UchAimd, UchCcp, UchDctcp};
    let kinds = [
        (ReplicastM, Flow),
        (ReplicastM, Frame),
        (ReplicastH, Flow),
        (ReplicastH, Frame),
        (ReplicastProxy, Flow),
        (ReplicastProxy, Frame),
        (UchCcp, Flow),
        (UchCcp, Frame),
        (UchAimd, Frame),
        (UchDctcp, Frame),
    ];
    let mut all: Vec<Scenario> = Vec::new();
    for (kind, fidelity) in kinds {
        let puts = base(kind, fidelity);
        let workload = Workload {
            load: Load::Open,
            window: 4,
            get_share: Share::from_percent(40),
            ..Workload::default()
        };
        all.push(Scenario { workload, ..puts.clone() });
        all.push(Scenario { quirks: Quirks::AS_PUBLISHED, ..puts.clone() });
        all.push(puts);
    }
    for fidelity in [Flow, Frame] {
        let mut booked_twice = base(ReplicastH, fidelity);
        booked_twice.replicast.double_booking = true;
        booked_twice.workload.chunk_size = Size::from_kib(16);
        booked_twice.disk.rate = Rate::from_bytes_per_s(4000 << 20);
        all.push(booked_twice);
    }
    let mut several_disks = base(ReplicastM, Flow);
    several_disks.disk.per_target = 3;
    several_disks.workload.window = 3;
    all.push(several_disks);
    all
}

/// Replicast with everything that can go wrong.
fn faulty() -> Vec<Scenario> {
    let faults = Faults {
        message_loss: Share::from_percent(2),
        message_duplication: Share::from_percent(2),
        message_delay: Span::from_us(20),
        transfer_corruption: Share::from_percent(3),
        targets_down: 3,
        down_at: Span::from_ms(2),
        up_at: Span::from_ms(9),
        slow_disks: 2,
        slow_factor: Share::from_percent(50),
        ..Faults::default()
    };
    let scenario = |kind, fidelity| Scenario {
        workload: Workload { get_share: Share::from_percent(25), ..Workload::default() },
        faults: faults.clone(),
        run: Run { length: Span::from_ms(20), warmup: Span::ZERO, fidelity },
        ..base(kind, fidelity)
    };
    REPLICAST
        .into_iter()
        .flat_map(|kind| [scenario(kind, Fidelity::Flow), scenario(kind, Fidelity::Frame)])
        .collect()
}

/// A short buffer that drops frames, and transfers that arrive damaged.
fn lossy_dctcp() -> Scenario {
    let mut scenario = base(ProtocolKind::UchDctcp, Fidelity::Frame);
    scenario.dctcp.buffer = Size::from_kib(40);
    scenario.dctcp.mark_threshold = Size::from_kib(20);
    scenario.faults.transfer_corruption = Share::from_percent(5);
    scenario.workload.get_share = Share::from_percent(25);
    scenario.run.length = Span::from_ms(40);
    scenario
}

fn all() -> Vec<Scenario> {
    healthy().into_iter().chain(faulty()).chain([lossy_dctcp()]).collect()
}

#[test]
fn looking_on_changes_nothing() {
    for scenario in all() {
        let (report, heard) = hear(&scenario);
        assert_eq!(report, run(&scenario, 7).unwrap());
        assert!(heard.len() > 100, "{}", heard.len());
    }
}

#[test]
fn every_request_starts_and_ends_once_as_the_report_says() {
    for scenario in all() {
        let (report, heard) = hear(&scenario);
        let end = measured_until(&scenario);
        let mut open: BTreeMap<RequestId, (Operation, Time, Time)> = BTreeMap::new();
        let (mut done, mut failed, mut unfinished) = (Vec::new(), 0, 0);
        for observation in &heard {
            match *observation {
                Observation::RequestStarted { at, request, operation, asked } => {
                    assert!(asked <= at && at <= end);
                    assert_eq!(open.insert(request, (operation, asked, at)), None, "{request}");
                }
                Observation::RequestEnded { at, request, operation, asked, started, outcome } => {
                    assert_eq!(open.remove(&request), Some((operation, asked, started)));
                    assert!(started <= at && at <= end);
                    match outcome {
                        Outcome::Done => done.push((asked, at, operation)),
                        Outcome::Failed(_) => failed += 1,
                        Outcome::Unfinished => unfinished += 1,
                    }
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{open:?}");
        let reported: Vec<_> =
            report.completions.iter().map(|c| (c.started, c.finished, c.operation)).collect();
        assert_eq!(done, reported);
        assert_eq!(failed, report.counts.failures + report.counts.abandoned);
        if scenario.workload.load == Load::Closed {
            let under_way = scenario.cluster.initiators * scenario.workload.window;
            assert_eq!(unfinished, under_way, "every window is full");
        }
    }
}

#[test]
fn messages_are_lost_as_often_as_the_report_says() {
    for scenario in all() {
        let (report, heard) = hear(&scenario);
        let mut lost = 0;
        for observation in &heard {
            if let Observation::Message { sent, received, from, to, .. } = observation {
                assert!(received.is_none_or(|received| received > *sent));
                let is_proxied = scenario.protocol.kind == ProtocolKind::ReplicastProxy;
                assert!(match (from, to) {
                    (Place::Initiator(_), Place::Initiator(_)) => false,
                    (Place::Target(from), Place::Target(to)) => is_proxied && from != to,
                    _ => true,
                });
                lost += u64::from(received.is_none());
            }
        }
        assert_eq!(lost, report.counts.messages_lost);
    }
}

/// The windows of one calendar: when each was bid, what was bid, and what was accepted.
type Reserved = BTreeMap<RequestId, (Time, Window, Option<Window>)>;

/// Reserved windows of one calendar never overlap, whatever the initiators do; an accepted window
/// lies in the one that was bid, and what is used in the one that was accepted.
#[test]
fn windows_go_from_bid_to_end_without_overlap() {
    for scenario in all() {
        let (_, heard) = hear(&scenario);
        let mut open: BTreeMap<(u32, Way), Reserved> = BTreeMap::new();
        let mut fates = BTreeMap::new();
        for observation in &heard {
            match *observation {
                Observation::WindowBid { at, target, way, request, window } => {
                    let calendar = open.entry((target, way)).or_default();
                    for (_, other, accepted) in calendar.values() {
                        let may_overlap = accepted.is_none() && scenario.replicast.double_booking;
                        let other = accepted.unwrap_or(*other);
                        assert!(may_overlap || !other.overlaps(&window), "{other} and {window}");
                    }
                    assert!(window.end > at, "a window that is over");
                    assert!(calendar.insert(request, (at, window, None)).is_none());
                }
                Observation::WindowAccepted { target, way, request, window, .. } => {
                    let calendar = open.get_mut(&(target, way)).unwrap();
                    for (_, _, accepted) in calendar.values() {
                        assert!(accepted.is_none_or(|other| !other.overlaps(&window)), "{window}");
                    }
                    let (_, bid, accepted) = calendar.get_mut(&request).unwrap();
                    assert!(bid.contains(&window), "{window} of {bid}");
                    assert_eq!(accepted.replace(window), None);
                }
                Observation::WindowClosed(closed) => {
                    let ClosedWindow { target, way, request, bid_at, bid, accepted, fate, .. } =
                        closed;
                    let known = open.get_mut(&(target, way)).unwrap().remove(&request);
                    assert_eq!(known, Some((bid_at, bid, accepted.map(|(_, window)| window))));
                    let name = match (fate, accepted) {
                        (Fate::Used { begin, end }, Some((_, window))) => {
                            assert!(begin < end);
                            let by_control = scenario.run.fidelity == Fidelity::Frame;
                            let inside = window.start <= begin && (end <= window.end || by_control);
                            // A member that does not hear of a later grant keeps the earlier one.
                            let lost = scenario.protocol.kind == ProtocolKind::ReplicastProxy
                                && scenario.faults != Faults::default();
                            assert!(inside || lost, "{begin} to {end} in {window}");
                            "used"
                        }
                        (Fate::Idle, Some(_)) => "idle",
                        (Fate::Cancelled, None) => "cancelled",
                        (Fate::Expired, None) => "expired",
                        (Fate::Forgotten, _) => "forgotten",
                        (Fate::Open, _) => "open",
                        (fate, accepted) => panic!("{fate:?} after {accepted:?}"),
                    };
                    *fates.entry(name).or_insert(0) += 1;
                }
                _ => {}
            }
        }
        assert!(open.values().all(BTreeMap::is_empty), "{open:?}");
        let count = |name| fates.get(name).copied().unwrap_or(0);
        if REPLICAST.contains(&scenario.protocol.kind) {
            assert!(count("used") > 100, "{fates:?}");
            // What a proxy grants is accepted at once; there are bids for gets alone.
            let cancelled = match scenario.protocol.kind {
                ProtocolKind::ReplicastProxy if scenario.workload.get_share == Share::ZERO => 0..=0,
                ProtocolKind::ReplicastProxy => 30..=u32::MAX,
                _ => 101..=u32::MAX,
            };
            assert!(cancelled.contains(&count("cancelled")), "{fates:?}");
        } else {
            assert_eq!(fates.len(), 0, "the unicast peers reserve nothing");
        }
        let with_faults = scenario.faults.targets_down > 0;
        assert_eq!(count("forgotten") > 0, with_faults, "{fates:?}");
        if with_faults {
            assert!(count("idle") > 0, "{fates:?}");
        } else if scenario.workload.get_share == Share::ZERO {
            assert_eq!(count("idle") + count("expired"), 0, "{fates:?}");
        }
    }
}

/// Chunks arrive whole, at a rate that the link has, and disks do one thing after another.
#[test]
fn payload_and_disks_agree_with_the_report() {
    for scenario in all() {
        let (report, heard) = hear(&scenario);
        let end = measured_until(&scenario);
        let chunk = scenario.workload.chunk_size;
        let unfinished: BTreeSet<RequestId> = heard
            .iter()
            .filter_map(|observation| match observation {
                Observation::RequestEnded { request, outcome: Outcome::Unfinished, .. } => {
                    Some(*request)
                }
                _ => None,
            })
            .collect();
        // Frame by frame, a unicast flow whose rate is changed while it waits for a port skips the
        // frames that would have left at that rate in the meantime. Short chunks are followed so at any fidelity.
        let is_short = chunk.as_bytes().div_ceil(scenario.network.frame.as_bytes()) <= 16;
        let skips = [ProtocolKind::UchCcp, ProtocolKind::UchAimd].contains(&scenario.protocol.kind)
            && (scenario.run.fidelity == Fidelity::Frame || is_short);
        // DCTCP sends again what was dropped or damaged.
        let repeats = scenario.protocol.kind == ProtocolKind::UchDctcp;
        let is_whole = |request: &RequestId, course: &Course| match course.size().cmp(&chunk) {
            Ordering::Less => skips || unfinished.contains(request),
            Ordering::Equal => true,
            Ordering::Greater => repeats,
        };
        let (mut received, mut sent) = (Size::ZERO, Size::ZERO);
        let mut disks: BTreeMap<(u32, u16), Time> = BTreeMap::new();
        let mut busy = Span::ZERO;
        for observation in &heard {
            match observation {
                Observation::Sent { request, course, to, .. } => {
                    assert!(!to.is_empty());
                    assert!(is_whole(request, course), "{course:?}");
                }
                Observation::Received { request, course, to, .. } => {
                    assert!(is_whole(request, course), "{course:?}");
                    for pair in course.pieces().windows(2) {
                        assert!(pair[0].end <= pair[1].begin, "{course:?}");
                    }
                    for piece in course.pieces() {
                        // Each frame is cut to whole nanoseconds.
                        let frames =
                            piece.size.as_bytes().div_ceil(scenario.network.frame.as_bytes());
                        let least = scenario.network.usable_rate().time_for(piece.size);
                        let span = piece.end - piece.begin + Span::from_ns(frames);
                        assert!(span >= least, "{piece:?}");
                    }
                    if course.end() <= end && (course.size() >= chunk || skips) {
                        match to {
                            Place::Target(_) => received += chunk,
                            Place::Initiator(_) => sent += chunk,
                        }
                    }
                }
                Observation::Disk { target, disk, queued, begin, end: done, .. } => {
                    let free = disks.insert((*target, *disk), *done).unwrap_or(Time::ZERO);
                    assert_eq!(*begin, free.max(*queued), "first come, first served");
                    busy += (*done).min(end).saturating_since(*begin);
                }
                _ => {}
            }
        }
        let all = f64::from(scenario.cluster.targets) * (end - Time::ZERO).as_secs_f64();
        if !scenario.quirks.early_statistics {
            let all = all * f64::from(scenario.disk.per_target);
            assert!((busy.as_secs_f64() / all - report.disk_utilization).abs() < 1e-12);
        }
        let busier = received.max(sent).as_bits() as f64;
        let usable = scenario.network.usable_rate().as_bps() as f64;
        let more = busier / usable / all - report.link_utilization;
        match scenario.protocol.kind {
            // What has arrived counts there when it is read.
            ProtocolKind::UchDctcp => assert!((-1e-12..0.1).contains(&more), "{more}"),
            _ => assert!(more.abs() < 1e-12, "{more}"),
        }
    }
}

/// One put, alone, step by step: the numbers of docs/understand/protocol.md.
#[test]
fn one_put_is_told_as_documented() {
    let scenario = Scenario {
        cluster: Cluster { initiators: 1, targets: 9, ..Cluster::default() },
        run: Run { length: Span::from_us(450), warmup: Span::ZERO, ..Run::default() },
        ..base(ProtocolKind::ReplicastM, Fidelity::Flow)
    };
    let (_, heard) = hear(&scenario);
    let at = Time::from_ns;
    let first = |o: &&Observation| match o {
        Observation::WindowClosed(w) => w.request.serial == 0,
        Observation::Received { request, .. } | Observation::Disk { request, .. } => {
            request.serial == 0
        }
        _ => false,
    };
    let mut closed = [0, 0];
    for observation in heard.iter().filter(first) {
        match observation {
            Observation::WindowClosed(window) => {
                assert_eq!((window.bid_at, window.bid.start), (at(3_424), at(9_272)));
                assert_eq!(window.bid.end, at(410_801));
                match window.fate {
                    Fate::Used { begin, end } => {
                        closed[0] += 1;
                        let accepted = Window { start: at(9_272), end: at(135_037) };
                        assert_eq!(window.accepted, Some((at(10_272), accepted)));
                        assert_eq!((begin, end), (at(9_272), at(126_945)));
                    }
                    fate => {
                        closed[1] += 1;
                        assert_eq!(
                            (fate, window.accepted, window.at),
                            (Fate::Cancelled, None, at(10_272))
                        );
                    }
                }
            }
            Observation::Received { course, .. } => {
                assert_eq!((course.begin(), course.end()), (at(10_272), at(127_945)));
            }
            Observation::Disk { queued, begin, end, .. } => {
                assert_eq!((*queued, *begin, *end), (at(127_945), at(127_945), at(440_445)));
            }
            _ => unreachable!("filtered"),
        }
    }
    assert_eq!(closed, [3, 6]);
    let ended = heard.iter().find_map(|o| match o {
        Observation::RequestEnded { at, outcome: Outcome::Done, .. } => Some(*at),
        _ => None,
    });
    assert_eq!(ended, Some(at(443_869)));
}
