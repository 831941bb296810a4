//! Rules that hold for every scheduler, whatever comes when.

use proptest::prelude::*;
use slotcast_schedulers::{
    BatchedBy, BucketBy, ClassId, ClientId, Deadlines, Direction, Handles, LevelRule, ObjectId,
    Policy, Quantum, Request, RequestId, Rule, Scheduler, Slice, TargetId, Whom,
};
use slotcast_units::{Rate, Share, Size, Span, Time};

const DEADLINES: Deadlines = Deadlines {
    rate: Rate::from_bytes_per_s(100 << 20),
    stretch: Share::from_percent(150),
    step: Span::ZERO,
};

fn frr() -> Policy {
    Policy::ObjectRoundRobin(Quantum::Requests(8))
}

fn with_deadlines(inner: Policy) -> Policy {
    Policy::DeadlineFirst(DEADLINES, Box::new(inner))
}

/// One of each kind, and some of them inside each other.
fn policies() -> Vec<Policy> {
    let rules = vec![
        Rule { whom: Whom::Clients(0..=1), rate: 500 },
        Rule { whom: Whom::Direction(Direction::Write), rate: 2000 },
    ];
    let tbf = Policy::TokenBuckets(BucketBy::Client, 3, rules);
    let slice = |ms, policy| Slice { span: Span::from_ms(ms), policy };
    vec![
        Policy::Fcfs,
        frr(),
        Policy::ObjectRoundRobin(Quantum::Bytes(Size::from_kib(20))),
        Policy::ObjectRoundRobin(Quantum::Requests(1)),
        Policy::Greedy,
        Policy::GreedyRoundRobin,
        Policy::EarliestDeadline(Span::from_ms(50)),
        Policy::Batched(BatchedBy::Client, 8, Handles::All),
        Policy::Batched(BatchedBy::Object, 3, Handles::Reads),
        Policy::Batched(BatchedBy::Target, 256, Handles::Writes),
        tbf.clone(),
        with_deadlines(frr()),
        with_deadlines(Policy::Levels(LevelRule::Quantum(vec![10, 1]), vec![frr(), Policy::Fcfs])),
        Policy::Levels(LevelRule::Strict, vec![Policy::Fcfs, Policy::Greedy]),
        Policy::TimeSlices(vec![slice(7, Policy::Fcfs), slice(3, frr()), slice(1, tbf)]),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Add(Request),
    /// Time passes, and a thread asks.
    Take(Span),
    /// The n-th of the queued requests is withdrawn.
    Remove(usize),
}

fn request() -> impl Strategy<Value = Request> {
    let within = proptest::option::weighted(0.2, (0u64..40).prop_map(Span::from_ms));
    (0u32..6, 0u16..4, 0u64..5, any::<bool>(), 0u64..30, 1u64..9, within).prop_map(
        |(client, class, object, is_read, offset, length, within)| Request {
            id: RequestId(0),
            client: ClientId(client),
            class: ClassId(class),
            target: TargetId(client % 2),
            object: ObjectId(object),
            direction: if is_read { Direction::Read } else { Direction::Write },
            offset: offset * 4096,
            length: Size::from_kib(length),
            arrived: Time::ZERO,
            within,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => request().prop_map(Step::Add),
        4 => (0u64..3000).prop_map(|us| Step::Take(Span::from_us(us))),
        1 => (0usize..64).prop_map(Step::Remove),
    ];
    proptest::collection::vec(step, 1..200)
}

/// Runs `steps`, and says what was taken, in order; at the end the scheduler is emptied.
fn run(scheduler: &mut dyn Scheduler, steps: &[Step]) -> Result<Vec<RequestId>, TestCaseError> {
    let mut now = Time::ZERO;
    let mut queued: Vec<Request> = Vec::new();
    let mut taken = Vec::new();
    let mut next = 0;
    let mut take = |scheduler: &mut dyn Scheduler, now, queued: &mut Vec<Request>| {
        let Some(request) = scheduler.take(now) else { return Ok(false) };
        let place = queued.iter().position(|q| *q == request);
        prop_assert!(place.is_some(), "{request:?} was not queued");
        queued.remove(place.expect("just looked"));
        scheduler.finished(now, &request);
        taken.push(request.id);
        Ok(true)
    };
    for step in steps {
        match step {
            Step::Add(request) => {
                next += 1;
                let request = Request { id: RequestId(next), arrived: now, ..*request };
                queued.push(request);
                scheduler.add(now, request);
            }
            Step::Take(pause) => {
                now += *pause;
                take(scheduler, now, &mut queued)?;
            }
            Step::Remove(n) if !queued.is_empty() => {
                let request = queued.remove(n % queued.len());
                prop_assert!(scheduler.remove(&request));
                prop_assert!(!scheduler.remove(&request), "it is gone");
            }
            Step::Remove(_) => {}
        }
        prop_assert_eq!(scheduler.len(), queued.len());
    }
    while !queued.is_empty() {
        if !take(scheduler, now, &mut queued)? {
            let wake = scheduler.wake_at(now);
            prop_assert!(wake.is_some_and(|wake| wake > now), "stuck at {now:?}: {wake:?}");
            now = wake.expect("just looked");
        }
    }
    prop_assert_eq!(scheduler.take(now), None);
    Ok(taken)
}

proptest! {
    #[test]
    fn no_request_is_lost_or_served_twice(steps in steps()) {
        for policy in policies() {
            run(&mut *policy.build(), &steps)?;
        }
    }

    #[test]
    fn equal_inputs_give_equal_orders(steps in steps()) {
        for policy in policies() {
            let first = run(&mut *policy.build(), &steps)?;
            prop_assert_eq!(first, run(&mut *policy.build(), &steps)?);
        }
    }
}

/// A server with one thread that takes `service` for each request, fed by `feed`, which sees the time
/// and what was just finished. Tells when each request started.
fn serve(
    scheduler: &mut dyn Scheduler,
    service: Span,
    until: Time,
    mut feed: impl FnMut(Time, Option<Request>) -> Vec<Request>,
) -> Vec<(Time, Request)> {
    let mut now = Time::ZERO;
    let mut started = Vec::new();
    let mut done = None;
    while now < until {
        for request in feed(now, done.take()) {
            scheduler.add(now, request);
        }
        match scheduler.take(now) {
            Some(request) => {
                started.push((now, request));
                now += service;
                scheduler.finished(now, &request);
                done = Some(request);
            }
            None => now += service,
        }
    }
    started
}

fn plain(id: u64, class: u16, object: u64, offset: u64, now: Time) -> Request {
    Request {
        id: RequestId(id),
        client: ClientId(0),
        class: ClassId(class),
        target: TargetId(0),
        object: ObjectId(object),
        direction: Direction::Write,
        offset,
        length: Size::from_mib(1),
        arrived: now,
        within: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// One object keeps the disk busy with ever lower offsets; another request waits behind it.
    #[test]
    fn a_deadline_keeps_a_request_from_starving(depth in 1u64..40, service_ms in 5u64..15) {
        let service = Span::from_ms(service_ms);
        let victim = RequestId(1 << 40);
        let started = |policy: &Policy| {
            let mut id = 0;
            let feed = |now: Time, done: Option<Request>| {
                let again = u64::from(done.is_some_and(|request| request.id != victim));
                let count = if id == 0 { depth } else { again };
                let lower = |_| {
                    id += 1;
                    plain(id, 0, 1, u64::MAX / 2 - id * (1 << 20), now)
                };
                let mut fresh: Vec<_> = (0..count).map(lower).collect();
                if now == Time::ZERO {
                    fresh.push(Request { id: victim, ..plain(0, 0, 1, u64::MAX - 1, now) });
                }
                fresh
            };
            let until = Time::ZERO + Span::from_secs(20);
            serve(&mut *policy.build(), service, until, feed)
        };
        let when = |policy| {
            let mut started = started(policy).into_iter();
            started.find(|(_, request)| request.id == victim).map(|(start, _)| start)
        };
        prop_assert_eq!(when(&Policy::Greedy), None);
        // Its deadline is 1.5 times the work at 100 MiB/s; what has deadlines before its own may come
        // first.
        let pending = depth + 1;
        let bound = Span::from_ms(15) * pending + service * (2 * pending + 2);
        let start = when(&with_deadlines(Policy::Greedy));
        prop_assert!(start.is_some_and(|start| start <= Time::ZERO + bound), "{start:?}");
    }

    /// Urgent requests, fewer than the server can do, beside an overload of normal ones.
    #[test]
    fn a_mandatory_deadline_holds_when_it_can(every in 3u64..20, within_ms in 20u64..500) {
        let service = Span::from_ms(5);
        let mut id = 0;
        let mut turn = 0;
        let feed = |now: Time, _| {
            turn += 1;
            let mut fresh = Vec::new();
            for urgent in [turn % every == 0, false, false] {
                id += 1;
                let within = urgent.then(|| Span::from_ms(within_ms));
                fresh.push(Request { within, ..plain(id, 0, id % 7, id << 20, now) });
            }
            fresh
        };
        let scheduler = &mut *with_deadlines(frr()).build();
        let started = serve(scheduler, service, Time::ZERO + Span::from_secs(10), feed);
        let urgent = started.iter().filter(|(_, request)| request.within.is_some());
        let mut seen = 0;
        for (start, request) in urgent {
            let deadline = request.arrived + request.within.expect("urgent");
            prop_assert!(*start <= deadline + service, "{start:?} after {deadline:?}");
            seen += 1;
        }
        prop_assert!(seen > 10);
    }

    /// Classes that always have work get their slices' share of the requests over ten epochs.
    #[test]
    fn slices_share_within_two_percent(
        spans in proptest::collection::vec(1u64..10, 2..5),
        service_us in 500u64..2000,
    ) {
        let slices = |ms: u64| Slice { span: Span::from_ms(ms * 100), policy: Policy::Fcfs };
        let policy = Policy::TimeSlices(spans.iter().map(|ms| slices(*ms)).collect());
        let epoch = Span::from_ms(100 * spans.iter().sum::<u64>());
        let mut id = 0;
        let classes = u16::try_from(spans.len()).expect("a few");
        let feed = |now: Time, done: Option<Request>| {
            let who = match done { Some(request) => vec![request.class.0; 1], None => (0..classes).flat_map(|c| [c; 4]).collect() };
            who.into_iter().map(|class| { id += 1; plain(id, class, 0, 0, now) }).collect()
        };
        let until = Time::ZERO + epoch * 10;
        let started = serve(&mut *policy.build(), Span::from_us(service_us), until, feed);
        for (class, ms) in spans.iter().enumerate() {
            let served = started.iter().filter(|(_, r)| usize::from(r.class.0) == class).count();
            let share = served as f64 / started.len() as f64;
            let wanted = *ms as f64 * 100.0 / epoch.as_secs_f64() / 1000.0;
            prop_assert!((share - wanted).abs() < 0.02, "class {class}: {share} for {wanted}");
        }
    }
}
