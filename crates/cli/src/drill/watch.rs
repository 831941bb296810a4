//! Watches a job while it is drilled: how many objects are at the destination, and how the job stands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;
use slotcast_node::jobs::JobAnswer;

use super::asker::{Ask, Asker};
use super::objects::listed;

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long a look at the destination may fail before it is left out.
const LOOK: Duration = Duration::from_millis(50);

/// A job is asked for at every so many samples.
const ASK_EVERY: u32 = 3;

/// What is at the destination at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Sample {
    /// Milliseconds since the job was begun.
    pub(super) at_ms: u64,
    /// Objects that are listed.
    pub(super) objects: u64,
    /// Their bytes.
    pub(super) bytes: u64,
}

/// What was seen so far.
#[derive(Debug, Default)]
struct Seen {
    samples: Vec<Sample>,
    job: Option<JobAnswer>,
    /// When the job was seen to be over, in milliseconds since it was begun.
    over_ms: Option<u64>,
    /// Why the job was not seen.
    problem: Option<String>,
}

/// A job, and where its outputs are.
#[derive(Debug)]
pub(super) struct Watch {
    job: String,
    bucket: String,
    begun: Instant,
    is_done: AtomicBool,
    seen: Mutex<Seen>,
}

impl Watch {
    pub(super) fn new(job: String, bucket: String) -> Watch {
        let seen = Mutex::new(Seen::default());
        Watch { job, bucket, begun: Instant::now(), is_done: AtomicBool::new(false), seen }
    }

    /// The number of the job.
    pub(super) fn job(&self) -> &str {
        &self.job
    }

    /// Time since the job was begun.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Looks every 100 ms until the job is over, or nobody wants to know any more.
    pub(super) fn run(&self, asker: &Asker, tell: impl Fn(u64)) {
        let mut next = self.begun;
        for turn in 0.. {
            if self.is_done.load(Ordering::Relaxed) || asker.is_stopped() {
                return;
            }
            let at_ms = self.elapsed_ms();
            if let Ok(names) = listed(asker, &self.bucket, LOOK) {
                let (objects, bytes) = (names.len() as u64, names.values().sum());
                self.with(|seen| seen.samples.push(Sample { at_ms, objects, bytes }));
                tell(objects);
            }
            if turn % ASK_EVERY == 0 && self.ask(asker) {
                return;
            }
            next += INTERVAL;
            // A look that took long is not made up for.
            next = next.max(Instant::now());
            sleep(next.saturating_duration_since(Instant::now()));
        }
    }

    /// Asks how the job stands; true if it is over.
    fn ask(&self, asker: &Asker) -> bool {
        let ask = Ask::get(format!("/v1/jobs/{}", self.job));
        let answer = asker.next(&ask).and_then(|answer| answer.json::<JobAnswer>());
        let at_ms = self.elapsed_ms();
        self.with(|seen| match answer {
            Ok(job) => {
                let is_over = job.is_over;
                seen.over_ms = is_over.then_some(at_ms);
                (seen.job, seen.problem) = (Some(job), None);
                is_over
            }
            Err(problem) => {
                seen.problem = Some(problem);
                false
            }
        })
    }

    fn with<T>(&self, of: impl FnOnce(&mut Seen) -> T) -> T {
        of(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the watching end.
    pub(super) fn end(&self) {
        self.is_done.store(true, Ordering::Relaxed);
    }

    /// When the job was over, and what it said then; none while it is not.
    pub(super) fn over(&self) -> Option<(u64, JobAnswer)> {
        self.with(|seen| Some((seen.over_ms?, seen.job.clone()?)))
    }

    /// How the job was when it was seen last.
    pub(super) fn told(&self) -> String {
        self.with(|seen| {
            let job = match &seen.job {
                Some(job) => {
                    let work = job.work;
                    format!(
                        "job {} is {}, {} of {} units worked and {} compared, {} objects with {} outputs counted, held by nodes {:?}",
                        job.job, job.status, job.units_worked, job.units, job.units_checked, work.objects, work.outputs, job.nodes
                    )
                }
                None => format!("job {} was not seen", self.job),
            };
            let problem = seen.problem.as_ref().map(|problem| format!("; {problem}"));
            format!("{job}{}", problem.unwrap_or_default())
        })
    }

    /// What was at the destination, over time.
    pub(super) fn samples(&self) -> Vec<Sample> {
        self.with(|seen| seen.samples.clone())
    }
}

/// Ends watching when it is dropped, however whoever waits for the job is left.
pub(super) struct Ends<'a>(pub(super) &'a Watch);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
