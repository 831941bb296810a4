//! Random histories of larger stripes: messages are lost, repeated, late and out of
//! order, disks are slow, servers lose their memory or their disks, clients die, leases are too short.
//! After the faults all must come to rest, and everything that was acknowledged must be there.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_random::{Stream, Streams};
use slotcast_units::{Span, Time};

use super::cluster::{Cluster, Envelope, Mode, Pending};
use super::history::{Script, Step, script};
use super::std::println;
use slotcast_stripe::{ClientId, Input, Peer};

/// The faults of a simulation. All but the number of clients is drawn from the seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FaultPlan {
    pub(super) clients: u32,
    pub(super) operations: u32,
    pub(super) message_loss: f64,
    pub(super) message_repetition: f64,
    pub(super) message_delay: Span,
    pub(super) disk_delay: Span,
    /// Servers that lose their memory.
    pub(super) restarts: u32,
    /// Servers that lose their disks: never more at a time than there are parity units.
    pub(super) losses: u32,
    /// Clients that die.
    pub(super) deaths: u32,
    /// How long faults strike.
    pub(super) length: Span,
}

impl FaultPlan {
    pub(super) fn drawn(random: &mut Stream) -> FaultPlan {
        FaultPlan {
            clients: 2 + random.below(3) as u32,
            operations: 2 + random.below(7) as u32,
            message_loss: random.unit() * 0.2,
            message_repetition: random.unit() * 0.2,
            message_delay: Span::from_us(20 + random.below(2000)),
            disk_delay: Span::from_us(1 + random.below(3000)),
            restarts: random.below(6) as u32,
            losses: random.below(4) as u32,
            deaths: random.below(2) as u32,
            length: Span::from_ms(20 + random.below(200)),
        }
    }
}

/// A mode that can be simulated with faults.
pub(crate) trait Simulated: Mode {
    /// What to call it.
    const NAME: &'static str;

    /// A stripe and its faults.
    fn drawn(random: &mut Stream) -> (Self, FaultPlan);

    /// Whether a server has its content on its disk and in use.
    fn is_whole(cluster: &Cluster<Self>, peer: Peer) -> bool;

    fn parity(&self) -> u8;
    fn data(&self) -> u8;
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Pending(u32),
    Fault(Fault),
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Restart,
    Loss,
    Death,
}

/// What is to happen, in the order of times, and at equal times in the order in which it was added.
#[derive(Default)]
struct Agenda {
    events: BTreeMap<(Time, u64), Happening>,
    added: u64,
}

impl Agenda {
    fn add(&mut self, at: Time, event: Happening) {
        self.events.insert((at, self.added), event);
        self.added += 1;
    }

    fn next(&mut self) -> Option<(Time, Happening)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}

struct Run<M: Mode> {
    cluster: Cluster<M>,
    plan: FaultPlan,
    network: Stream,
    disks: Stream,
    faults: Stream,
    pending: Vec<Option<Pending<M>>>,
    free: Vec<u32>,
    problem: Option<(Time, String)>,
    /// Whether every event is printed.
    verbose: bool,
}

impl<M: Simulated> Run<M> {
    /// Schedules what the machines want.
    fn schedule(&mut self, now: Time, pending: Vec<Pending<M>>, agenda: &mut Agenda) {
        let calm = now >= Time::ZERO + self.plan.length;
        for next in pending {
            match &next {
                Pending::Send(_) => {
                    let lost = self.network.chance(self.plan.message_loss);
                    let repeated = self.network.chance(self.plan.message_repetition);
                    if calm || !lost {
                        let at = now + self.message_delay();
                        self.put(at, next.clone(), agenda);
                    }
                    if repeated && !calm {
                        let at = now + self.message_delay();
                        self.put(at, next, agenda);
                    }
                }
                Pending::Stored(_) | Pending::Loaded(..) => {
                    let delay = self.disks.below(self.plan.disk_delay.as_ns());
                    self.put(now + Span::from_ns(delay), next, agenda);
                }
                Pending::Wake(_, at, _) => self.put(*at, next, agenda),
            }
        }
    }

    /// Most messages are quick, some late, a few very late.
    fn message_delay(&mut self) -> Span {
        let longest = match self.network.below(50) {
            0 => self.plan.message_delay * 40,
            1..10 => self.plan.message_delay * 4,
            _ => self.plan.message_delay,
        };
        Span::from_ns(self.network.below(longest.as_ns()))
    }

    fn put(&mut self, at: Time, next: Pending<M>, agenda: &mut Agenda) {
        let index = self.free.pop().unwrap_or(self.pending.len() as u32);
        if index as usize == self.pending.len() {
            self.pending.push(None);
        }
        self.pending[index as usize] = Some(next);
        agenda.add(at, Happening::Pending(index));
    }

    /// An event, for people.
    fn told(&self, event: Happening) -> String {
        let index = match event {
            Happening::Fault(fault) => return format!("{fault:?}"),
            Happening::Pending(index) => index,
        };
        match &self.pending[index as usize] {
            Some(Pending::Send(Envelope { from, to, message })) => {
                format!("{from:?} -> {to:?} {message:?}")
            }
            Some(Pending::Stored(peer)) => {
                format!("{peer:?} has written {:?}", self.cluster.host(*peer).storing.front())
            }
            Some(Pending::Loaded(read)) => format!("{read:?}"),
            Some(Pending::Wake(peer, _, timer)) => format!("{peer:?} wakes for {timer:?}"),
            None => "nothing".into(),
        }
    }

    fn strike(&mut self, now: Time, fault: Fault, pending: &mut Vec<Pending<M>>) {
        let servers = self.cluster.mode.servers();
        let units = self.cluster.mode.data() + self.cluster.mode.parity();
        let victim = servers[self.faults.below(servers.len() as u64) as usize];
        let broken = servers.iter().filter(|peer| !M::is_whole(&self.cluster, **peer)).count();
        match fault {
            Fault::Restart => self.cluster.crash(victim, false, now, pending),
            Fault::Loss => {
                let victim = servers[self.faults.below(u64::from(units)) as usize];
                if broken < usize::from(self.cluster.mode.parity()) {
                    self.cluster.crash(victim, true, now, pending);
                }
            }
            Fault::Death => {
                let client = self.faults.below(u64::from(self.plan.clients)) as u32;
                self.cluster.crash(Peer::Client(ClientId(client)), false, now, pending);
            }
        }
    }
}

impl<M: Simulated> Run<M> {
    fn handle(&mut self, now: Time, event: Happening, agenda: &mut Agenda) {
        if self.problem.is_some() {
            return;
        }
        if self.verbose {
            println!("{now:>12} {}", self.told(event));
        }
        let mut pending = Vec::new();
        let mut durable = false;
        match event {
            Happening::Fault(fault) => self.strike(now, fault, &mut pending),
            Happening::Pending(index) => {
                self.free.push(index);
                match self.pending[index as usize].take() {
                    Some(Pending::Send(Envelope { from, to, message })) => {
                        let input = Input::Message { from, message };
                        self.cluster.input(to, now, input, &mut pending);
                    }
                    Some(Pending::Stored(peer)) => {
                        durable = true;
                        self.cluster.stored(peer, now, &mut pending);
                    }
                    Some(Pending::Loaded(read)) => self.cluster.loaded(read, now, &mut pending),
                    Some(Pending::Wake(peer, _, timer)) => {
                        self.cluster.input(peer, now, Input::Wake(timer), &mut pending);
                    }
                    None => {}
                }
            }
        }
        if durable {
            self.problem = self.cluster.problem().map(|problem| (now, problem));
        }
        self.schedule(now, pending, agenda);
    }
}

/// More events than any run needs to come to rest.
const MAX_EVENTS: u64 = 2_000_000;

/// What a simulation left behind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// Writes that were acknowledged.
    pub(crate) acknowledged: usize,
    pub(crate) events: u64,
}

/// Simulates the faults of `seed` on a stripe with `change`s, and says what it found to be wrong.
pub(crate) fn simulate<M: Simulated>(
    seed: u64,
    verbose: bool,
    change: impl FnOnce(&mut M),
) -> Result<Outcome, String> {
    let streams = Streams::new(seed);
    let mut random = streams.stream("weather", 0);
    let (mut mode, plan) = M::drawn(&mut random);
    change(&mut mode);
    let scripts = scripts(&mode, &plan, &mut random);
    let mut pending = Vec::new();
    let mut run = Run {
        cluster: Cluster::new(mode, &scripts, &mut pending),
        network: streams.stream("network", 0),
        disks: streams.stream("disks", 0),
        faults: streams.stream("faults", 0),
        pending: Vec::new(),
        free: Vec::new(),
        problem: None,
        verbose,
        plan,
    };
    let mut agenda = Agenda::default();
    run.schedule(Time::ZERO, pending, &mut agenda);
    let FaultPlan { restarts, losses, deaths, length, .. } = run.plan;
    let faults = [(Fault::Restart, restarts), (Fault::Loss, losses), (Fault::Death, deaths)];
    for (fault, count) in faults {
        for _ in 0..count {
            let at = Time::from_ns(run.faults.below(length.as_ns()));
            agenda.add(at, Happening::Fault(fault));
        }
    }
    let mut events = 0;
    while events < MAX_EVENTS
        && let Some((now, event)) = agenda.next()
    {
        run.handle(now, event, &mut agenda);
        events += 1;
    }
    let Run { cluster, problem, plan, .. } = run;
    let found = problem.map(|(at, problem)| format!("{at}: {problem}"));
    let found = found.or_else(|| cluster.problem()).or_else(|| {
        let over = cluster.history.is_over() && cluster.is_quiet() && agenda.events.is_empty();
        (!over).then(|| {
            let unquiet = cluster.hosts.iter().filter(|host| !M::is_quiet(&host.node));
            format!("no rest: {:?}", unquiet.map(|host| &host.node).collect::<Vec<_>>())
        })
    });
    match found {
        Some(problem) => Err(format!("seed {seed}, {plan:?}, {:?}: {problem}", cluster.mode)),
        None => Ok(Outcome { acknowledged: cluster.history.acknowledged.len(), events }),
    }
}

/// What each client does.
fn scripts<M: Simulated>(mode: &M, plan: &FaultPlan, random: &mut Stream) -> Vec<Script> {
    // Few units, so that clients meet.
    let units = u64::from(mode.data()).min(3);
    let mut steps = || -> Vec<Step> {
        let step = |_| {
            let unit = random.below(units) as u8;
            if random.chance(0.7) { Step::Write(unit) } else { Step::Read(unit) }
        };
        (0..plan.operations).map(step).collect()
    };
    (0..plan.clients).map(|client| script(client, &steps())).collect()
}

/// Simulates the faults of many seeds until one finds something, and says what, and how to repeat it.
pub(crate) fn simulate_all<M: Simulated>(
    seeds: impl IntoIterator<Item = u64>,
) -> Result<Outcome, String> {
    let mut all = Outcome::default();
    for seed in seeds {
        let outcome = simulate::<M>(seed, false, |_| {}).map_err(|problem| {
            let mode = M::NAME;
            format!(
                "{mode}: {problem}\n\nTo see every event of it:\n    cargo run --release -p \
                 slotcast-stripe --example faults -- --mode {mode} --seed {seed}"
            )
        })?;
        all.acknowledged += outcome.acknowledged;
        all.events += outcome.events;
    }
    Ok(all)
}
