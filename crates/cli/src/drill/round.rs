//! One round: objects are put, a job copies them, a fault comes, and both ends are compared.

use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::json;
use slotcast_job::JobId;
use slotcast_random::{Stream, Streams};

use super::Kind;
use super::asker::{Ask, Asker};
use super::cluster::Cluster;
use super::dip::{self, Dip};
use super::objects::Objects;
use super::trouble::Trouble;
use super::watch::{Ends, Sample, Watch};
use crate::failure::Failure;
use crate::output::print;
use crate::progress::Bar;

/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Replicas of the source; the destination has those of the cluster, so that content is read and stored.
const SOURCE_REPLICAS: u32 = 2;

/// What all rounds have in common.
pub(super) struct Setting {
    pub(super) kind: Kind,
    pub(super) seed: u64,
    pub(super) objects: u32,
    pub(super) max_bytes: u64,
    pub(super) within: Duration,
    pub(super) patience: Duration,
}

/// What a round found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Round {
    pub(super) round: u32,
    /// Objects of the source, and of the destination when they were compared.
    pub(super) objects: [u64; 2],
    /// Their bytes.
    pub(super) bytes: [u64; 2],
    /// What was done to the cluster.
    pub(super) fault: String,
    /// When, in milliseconds since the job was begun.
    pub(super) fault_ms: u64,
    /// When the job was verified.
    pub(super) verified_ms: u64,
    /// When all objects were at the destination.
    pub(super) complete_ms: u64,
    pub(super) dip: Dip,
    /// What is lost, too many or different.
    pub(super) wrong: Vec<String>,
    /// Targets that are gone for good.
    #[serde(skip)]
    pub(super) lost: Vec<u32>,
    pub(super) samples: Vec<Sample>,
}

/// What a fault hits.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Node(u32),
    Folder(u32, u32),
    All,
}

impl Fault {
    /// Drawn from the nodes that there are.
    fn drawn(kind: Kind, cluster: &Cluster, random: &mut Stream) -> Fault {
        let nodes = cluster.nodes();
        let place = |random: &mut Stream, length: usize| {
            usize::try_from(random.below(length.max(1) as u64)).unwrap_or(0)
        };
        let node = &nodes[place(random, nodes.len())];
        match kind {
            Kind::RemoveNode => Fault::Node(node.number),
            Kind::RemoveDisk => {
                Fault::Folder(node.number, node.targets[place(random, node.targets.len())])
            }
            // A soak has no rounds.
            Kind::KillAll | Kind::Soak => Fault::All,
        }
    }

    fn name(self) -> String {
        match self {
            Fault::Node(node) => format!("node {node} lost"),
            Fault::Folder(node, target) => format!("target {target} of node {node} lost"),
            Fault::All => "all killed".into(),
        }
    }

    /// The targets of a node that does not come back.
    fn targets(self, cluster: &Cluster) -> Vec<u32> {
        let Fault::Node(number) = self else { return Vec::new() };
        let mut nodes = cluster.nodes().iter();
        nodes.find(|node| node.number == number).map_or_else(Vec::new, |node| node.targets.clone())
    }

    fn carry_out(self, cluster: &mut Cluster) -> Result<(), Trouble> {
        match self {
            Fault::Node(node) => cluster.lose_node(node),
            Fault::Folder(node, target) => cluster.lose_folder(node, target),
            Fault::All => cluster.lose_power(),
        }
    }
}

/// A number for a job that no other job has.
fn new_job() -> Result<String, Trouble> {
    let mut random = [0; 8];
    let failed = |error| slotcast_lab::InputError::plain(format!("no random numbers: {error}"));
    getrandom::fill(&mut random).map_err(failed).map_err(Failure::from)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(0);
    Ok(JobId::new(now_ms, u64::from_le_bytes(random)).to_string())
}

/// Carries out one round after another on a cluster.
pub(super) struct Rounds<'a> {
    pub(super) setting: &'a Setting,
    pub(super) cluster: &'a mut Cluster,
    pub(super) asker: Arc<Asker>,
    pub(super) bar: &'a Bar,
    /// Whether standard output is for a program.
    pub(super) is_quiet: bool,
}

impl Rounds<'_> {
    fn say(&self, round: u32, what: &str) -> Result<(), Trouble> {
        match self.is_quiet {
            true => Ok(()),
            false => Ok(self.bar.suspend(|| print(&format!("round {round}: {what}\n")))?),
        }
    }

    /// Asks until it is settled, and refuses a no.
    fn ask(&self, ask: &Ask, is_allowed: impl Fn(u16) -> bool) -> Result<(), Trouble> {
        let answer = self.asker.settled(ask, self.setting.patience)?;
        match answer.status {
            200..300 => Ok(()),
            status if is_allowed(status) => Ok(()),
            _ => Err(Trouble::Stuck(format!("{ask:?}: {}", answer.said()))),
        }
    }

    /// Carries out a round.
    ///
    /// # Errors
    /// If it does not come to its end: then nothing is compared.
    pub(super) fn round(&mut self, number: u32) -> Result<Round, Trouble> {
        let Setting { kind, seed, objects: count, max_bytes, within, patience } = *self.setting;
        let (source, destination) = (format!("src-{number}"), format!("dst-{number}"));
        let objects = Objects { seed, round: number, count, max_bytes };
        let mut random = Streams::new(seed).stream("drill faults", u64::from(number));
        let moment = within.mul_f64(random.unit());
        let fault = Fault::drawn(kind, self.cluster, &mut random);
        let lost = fault.targets(self.cluster);

        let replicas = format!("?replicas={SOURCE_REPLICAS}");
        for path in [format!("{source}{replicas}"), destination.clone()] {
            // Whoever lost the answer is told that it is there.
            self.ask(&Ask::put(format!("/v2/{path}"), Vec::new()), |status| status == 409)?;
        }
        self.bar.begin(format!("round {number}: objects are put"), count.into());
        let put = || self.bar.advance(1);
        let bytes = objects.put(&self.asker, &source, patience, put)?;
        let size = match bytes {
            0..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
            _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        };
        self.say(number, &format!("{count} objects of {size} in all are in slot://{source}"))?;

        let watch = Watch::new(new_job()?, destination.clone());
        let fault_ms = self.copied(number, (&source, &destination), &watch, (moment, fault))?;
        let Some((verified_ms, job)) = watch.over() else { return Err(Trouble::Interrupted) };
        if job.status != "verified" {
            let why = job.reason.clone().unwrap_or_default();
            return Err(Trouble::Stuck(format!("job {} is {}: {why}", job.job, job.status)));
        }

        self.bar.begin(format!("round {number}: both ends are compared"), 1);
        let mut wrong = Vec::new();
        let (mut counts, mut bytes) = ([0; 2], [0; 2]);
        for (end, bucket) in [&source, &destination].into_iter().enumerate() {
            let compared = objects.compared(&self.asker, bucket)?;
            (counts[end], bytes[end]) = (compared.objects, compared.bytes);
            wrong.extend(compared.wrong);
        }
        let samples = watch.samples();
        let (dip, complete_ms) = (dip::of(&samples, fault_ms), dip::complete_ms(&samples));
        Ok(Round {
            round: number,
            objects: counts,
            bytes,
            fault: fault.name(),
            fault_ms,
            verified_ms,
            complete_ms,
            dip,
            wrong,
            lost,
            samples,
        })
    }

    /// Starts the job, carries out the fault at its moment, and waits until the job is over. Gives when the fault was.
    fn copied(
        &mut self,
        number: u32,
        (source, destination): (&str, &str),
        watch: &Watch,
        (moment, fault): (Duration, Fault),
    ) -> Result<u64, Trouble> {
        let (asker, bar, total) = (self.asker.clone(), self.bar, u64::from(self.setting.objects));
        bar.begin(format!("round {number}: the job copies"), total);
        let tell = |objects: u64| {
            bar.advance(0);
            bar.tell(format!("round {number}: the job copies, {objects} of {total} objects"));
        };
        thread::scope(|scope| {
            let _ends = Ends(watch);
            scope.spawn(|| watch.run(&asker, tell));
            let text = json!({
                "id": watch.job(), "kind": "copy",
                "from": { "bucket": source }, "to": { "bucket": destination },
            });
            self.ask(&Ask::post("/v1/jobs", text.to_string().into_bytes()), |_| false)?;
            while watch.elapsed() < moment {
                self.may_go_on()?;
                sleep(PAUSE.min(moment.saturating_sub(watch.elapsed())));
            }
            let fault_ms = watch.elapsed_ms();
            let at = Duration::from_millis(fault_ms).as_secs_f64();
            self.say(number, &format!("{} {at:.2} s after the job began", fault.name()))?;
            let since = Instant::now();
            fault.carry_out(self.cluster)?;
            while watch.over().is_none() {
                self.may_go_on()?;
                if since.elapsed() > self.setting.patience {
                    let patience = self.setting.patience.as_secs();
                    let told = watch.told();
                    let message =
                        format!("the job is not over {patience} s after the fault: {told}");
                    return Err(Trouble::Stuck(message));
                }
                sleep(PAUSE);
            }
            Ok(fault_ms)
        })
    }

    fn may_go_on(&mut self) -> Result<(), Trouble> {
        if self.asker.is_stopped() {
            return Err(Trouble::Interrupted);
        }
        self.cluster.must_run()
    }

    /// Removes what a round has made, and makes the cluster whole again.
    pub(super) fn tidy_up(&mut self, round: &Round) -> Result<(), Trouble> {
        self.bar.begin(format!("round {}: the cluster becomes whole again", round.round), 1);
        if self.setting.kind == Kind::RemoveNode {
            self.cluster.replace_node(&round.lost)?;
        }
        self.cluster.wait_until_whole()?;
        for bucket in ["src", "dst"] {
            self.remove(&format!("{bucket}-{}", round.round))?;
        }
        self.cluster.collect_garbage()
    }

    /// Removes a bucket with all that is in it.
    fn remove(&self, bucket: &str) -> Result<(), Trouble> {
        let objects = Objects { seed: 0, round: 0, count: self.setting.objects, max_bytes: 1 };
        objects.remove(&self.asker, bucket, self.setting.patience)?;
        self.ask(&Ask::delete(format!("/v2/{bucket}")), |status| status == 404)
    }
}
