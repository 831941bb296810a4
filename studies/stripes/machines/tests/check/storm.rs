//! Random histories of larger stripes: messages are lost, repeated, late and out of
//! order, disks are slow, servers lose their memory or their disks, clients die, leases are too short.
//! After the storm all must come to rest, and everything that was acknowledged must be there.

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

/// How a storm blows. All but the number of clients is drawn from the seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weather {
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

impl Weather {
    pub(super) fn drawn(random: &mut Stream) -> Weather {
        Weather {
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

/// A mode that storms can blow on.
pub(crate) trait Storms: Mode {
    /// What to call it.
    const NAME: &'static str;

    /// A stripe and its weather.
    fn drawn(random: &mut Stream) -> (Self, Weather);

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

struct Storm<M: Mode> {
    cluster: Cluster<M>,
    weather: Weather,
    network: Stream,
    disks: Stream,
    faults: Stream,
    pending: Vec<Option<Pending<M>>>,
    free: Vec<u32>,
    problem: Option<(Time, String)>,
    /// Whether every event is printed.
    verbose: bool,
}

impl<M: Storms> Storm<M> {
    /// Schedules what the machines want.
    fn schedule(&mut self, now: Time, pending: Vec<Pending<M>>, agenda: &mut Agenda) {
        let calm = now >= Time::ZERO + self.weather.length;
        for next in pending {
            match &next {
                Pending::Send(_) => {
                    let lost = self.network.chance(self.weather.message_loss);
                    let repeated = self.network.chance(self.weather.message_repetition);
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
                    let delay = self.disks.below(self.weather.disk_delay.as_ns());
                    self.put(now + Span::from_ns(delay), next, agenda);
                }
                Pending::Wake(_, at, _) => self.put(*at, next, agenda),
            }
        }
    }

    /// Most messages are quick, some late, a few very late.
    fn message_delay(&mut self) -> Span {
        let longest = match self.network.below(50) {
            0 => self.weather.message_delay * 40,
            1..10 => self.weather.message_delay * 4,
            _ => self.weather.message_delay,
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
                let client = self.faults.below(u64::from(self.weather.clients)) as u32;
                self.cluster.crash(Peer::Client(ClientId(client)), false, now, pending);
            }
        }
    }
}

impl<M: Storms> Storm<M> {
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

/// More events than any storm needs to come to rest.
const MAX_EVENTS: u64 = 2_000_000;

/// What a storm left behind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Aftermath {
    /// Writes that were acknowledged.
    pub(crate) acknowledged: usize,
    pub(crate) events: u64,
}

/// Lets the storm of `seed` blow on a stripe with `change`s, and says what it found to be wrong.
pub(crate) fn storm<M: Storms>(
    seed: u64,
    verbose: bool,
    change: impl FnOnce(&mut M),
) -> Result<Aftermath, String> {
    let streams = Streams::new(seed);
    let mut random = streams.stream("weather", 0);
    let (mut mode, weather) = M::drawn(&mut random);
    change(&mut mode);
    let scripts = scripts(&mode, &weather, &mut random);
    let mut pending = Vec::new();
    let mut storm = Storm {
        cluster: Cluster::new(mode, &scripts, &mut pending),
        network: streams.stream("network", 0),
        disks: streams.stream("disks", 0),
        faults: streams.stream("faults", 0),
        pending: Vec::new(),
        free: Vec::new(),
        problem: None,
        verbose,
        weather,
    };
    let mut agenda = Agenda::default();
    storm.schedule(Time::ZERO, pending, &mut agenda);
    let Weather { restarts, losses, deaths, length, .. } = storm.weather;
    let faults = [(Fault::Restart, restarts), (Fault::Loss, losses), (Fault::Death, deaths)];
    for (fault, count) in faults {
        for _ in 0..count {
            let at = Time::from_ns(storm.faults.below(length.as_ns()));
            agenda.add(at, Happening::Fault(fault));
        }
    }
    let mut events = 0;
    while events < MAX_EVENTS
        && let Some((now, event)) = agenda.next()
    {
        storm.handle(now, event, &mut agenda);
        events += 1;
    }
    let Storm { cluster, problem, weather, .. } = storm;
    let found = problem.map(|(at, problem)| format!("{at}: {problem}"));
    let found = found.or_else(|| cluster.problem()).or_else(|| {
        let over = cluster.history.is_over() && cluster.is_quiet() && agenda.events.is_empty();
        (!over).then(|| {
            let unquiet = cluster.hosts.iter().filter(|host| !M::is_quiet(&host.node));
            format!("no rest: {:?}", unquiet.map(|host| &host.node).collect::<Vec<_>>())
        })
    });
    match found {
        Some(problem) => Err(format!("seed {seed}, {weather:?}, {:?}: {problem}", cluster.mode)),
        None => Ok(Aftermath { acknowledged: cluster.history.acknowledged.len(), events }),
    }
}

/// What each client does.
fn scripts<M: Storms>(mode: &M, weather: &Weather, random: &mut Stream) -> Vec<Script> {
    // Few units, so that clients meet.
    let units = u64::from(mode.data()).min(3);
    let mut steps = || -> Vec<Step> {
        let step = |_| {
            let unit = random.below(units) as u8;
            if random.chance(0.7) { Step::Write(unit) } else { Step::Read(unit) }
        };
        (0..weather.operations).map(step).collect()
    };
    (0..weather.clients).map(|client| script(client, &steps())).collect()
}

/// Lets the storms of many seeds blow until one finds something, and says what, and how to repeat it.
pub(crate) fn storms<M: Storms>(seeds: impl IntoIterator<Item = u64>) -> Result<Aftermath, String> {
    let mut all = Aftermath::default();
    for seed in seeds {
        let aftermath = storm::<M>(seed, false, |_| {}).map_err(|problem| {
            let mode = M::NAME;
            format!(
                "{mode}: {problem}\n\nTo see every event of it:\n    cargo run --release -p \
                 slotcast-stripe --example storm -- --mode {mode} --seed {seed}"
            )
        })?;
        all.acknowledged += aftermath.acknowledged;
        all.events += aftermath.events;
    }
    Ok(all)
}
