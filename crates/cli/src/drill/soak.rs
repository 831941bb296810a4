//! Puts, gets and deletes at an even pace for long: what the nodes have in hand must not grow with what they have done.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde::Serialize;
use slotcast_object::MAX_INLINE;
use slotcast_random::{Stream, Streams};

use super::asker::{Ask, Asker};
use super::cluster::Cluster;
use super::objects::Objects;
use super::round::Setting;
use super::trouble::Trouble;
use crate::output::print;
use crate::progress::Bar;

/// Clients beside each other: each has names of its own, so that it knows what they say.
const CLIENTS: u32 = 4;

/// From one sample to the next, unless the whole takes less than twenty of them.
const INTERVAL: Duration = Duration::from_secs(60);

/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// The most that anything may have grown from the second fifth of the samples to the last one, in percent.
const MAX_GROWTH: u64 = 10;

/// And so much more: pages and files of a moment.
const SLACK_BYTES: u64 = 16 << 20;
const SLACK_FILES: u64 = 16;

/// Replicas of an object.
const REPLICAS: u64 = 3;

/// Longer objects are not stored in one chunk.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Where the objects are.
const BUCKET: &str = "soak";

/// What all nodes have in hand at a moment; of each kind the sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sample {
    /// Since the beginning, in seconds.
    pub(super) at_s: u64,
    /// Requests that were answered so far.
    pub(super) requests: u64,
    /// The longest time that one took since the sample before, in milliseconds.
    pub(super) slowest_ms: u64,
    /// Resident memory.
    pub(super) memory_bytes: u64,
    pub(super) open_files: u64,
    pub(super) threads: u64,
    /// Chunks that targets hold: those that nothing names any more, too, until they are collected.
    pub(super) replicas: u64,
    pub(super) segments: u64,
}

/// What a soak found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Soaked {
    pub(super) samples: Vec<Sample>,
    /// Chunks that are held in the end, after everything that nothing names was collected, and how many should be.
    pub(super) replicas: [u64; 2],
    /// Whether it took long enough to say what grows.
    pub(super) is_long: bool,
    /// What has another content than it should have, or has grown.
    pub(super) wrong: Vec<String>,
}

/// What clients have done.
struct Clients<'a> {
    setting: &'a Setting,
    asker: &'a Asker,
    is_over: AtomicBool,
    requests: AtomicU64,
    slowest_ms: AtomicU64,
    wrong: Mutex<Vec<String>>,
    trouble: Mutex<Option<Trouble>>,
}

/// Puts, reads and deletes for so long, so many times a second.
///
/// # Errors
/// If something does not come to its end.
pub(super) fn soak(
    setting: &Setting,
    (lasts, rate): (Duration, u32),
    cluster: &mut Cluster,
    asker: &Asker,
    (bar, is_quiet): (&Bar, bool),
) -> Result<Soaked, Trouble> {
    let made = asker.settled(&Ask::put(format!("/v2/{BUCKET}"), Vec::new()), setting.patience)?;
    if made.status >= 300 && made.status != 409 {
        return Err(Trouble::Stuck(format!("slot://{BUCKET}: {}", made.said())));
    }
    let clients = Clients {
        setting,
        asker,
        is_over: AtomicBool::new(false),
        requests: AtomicU64::new(0),
        slowest_ms: AtomicU64::new(0),
        wrong: Mutex::default(),
        trouble: Mutex::default(),
    };
    bar.begin("objects are put, read and deleted".into(), lasts.as_secs().max(1));
    let (samples, said) = thread::scope(|scope| {
        let running: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn({
                    let clients = &clients;
                    move || clients.client(number, rate)
                })
            })
            .collect();
        let samples = sampled(&clients, cluster, lasts, (bar, is_quiet));
        clients.is_over.store(true, Ordering::Relaxed);
        let said: Vec<_> = running.into_iter().flat_map(thread::ScopedJoinHandle::join).collect();
        samples.map(|samples| (samples, said))
    })?;
    if let Some(trouble) = clients.trouble.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(trouble);
    }
    bar.begin("the cluster comes to rest".into(), 1);
    cluster.wait_until_whole()?;
    cluster.collect_garbage()?;
    let mut wrong = clients.wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    let live = said.iter().flatten().flatten();
    let should = live.filter(|length| **length > MAX_INLINE as u64).count() as u64 * REPLICAS;
    // What was collected is removed soon after.
    let held = cluster.settles_at(should)?;
    if held != should {
        wrong.push(format!("{held} replicas are held, and not {should}"));
    }
    // Caches fill up first, and the first garbage is collected.
    let is_long = lasts >= INTERVAL * 20;
    wrong.extend(is_long.then(|| growth(&samples)).into_iter().flatten());
    Ok(Soaked { samples, replicas: [held, should], is_long, wrong })
}

/// Takes samples until the time is over.
fn sampled(
    clients: &Clients<'_>,
    cluster: &mut Cluster,
    lasts: Duration,
    (bar, is_quiet): (&Bar, bool),
) -> Result<Vec<Sample>, Trouble> {
    let (begun, interval) = (Instant::now(), INTERVAL.min(lasts / 20));
    let (mut samples, mut next) = (Vec::new(), interval);
    while begun.elapsed() < lasts {
        if clients.asker.is_stopped() {
            return Err(Trouble::Interrupted);
        }
        cluster.must_run()?;
        if clients.trouble.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            break;
        }
        if begun.elapsed() >= next {
            next += interval;
            let sample = Sample {
                at_s: begun.elapsed().as_secs(),
                requests: clients.requests.load(Ordering::Relaxed),
                slowest_ms: clients.slowest_ms.swap(0, Ordering::Relaxed),
                ..cluster.in_hand()?
            };
            if !is_quiet {
                let line = line(&sample);
                let head = if samples.is_empty() { HEAD } else { "" };
                bar.suspend(|| print(&format!("{head}{line}")))?;
            }
            samples.push(sample);
        }
        sleep(PAUSE);
        bar.advance(0);
    }
    Ok(samples)
}

impl Clients<'_> {
    /// One client. Gives the lengths of its objects in the end; none of one that is not there.
    fn client(&self, number: u32, rate: u32) -> Vec<Option<u64>> {
        let mut random = Streams::new(self.setting.seed).stream("soak", u64::from(number));
        let names: Vec<u32> = (0..self.setting.objects).filter(|n| n % CLIENTS == number).collect();
        let mut said: Vec<Option<(u32, u64)>> = vec![None; names.len()];
        let between = Duration::from_secs(1) * CLIENTS / rate.max(1);
        let mut next = Instant::now();
        for turn in 1.. {
            if names.is_empty() || self.is_over.load(Ordering::Relaxed) || self.asker.is_stopped() {
                break;
            }
            let place = usize::try_from(random.below(names.len() as u64)).unwrap_or(0);
            let since = Instant::now();
            match self.request(turn, names[place], &mut said[place], &mut random) {
                Ok(wrong) => {
                    let mut all = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    all.extend(wrong);
                }
                Err(trouble) => {
                    let mut first = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(trouble);
                    break;
                }
            }
            let took = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.slowest_ms.fetch_max(took, Ordering::Relaxed);
            self.requests.fetch_add(1, Ordering::Relaxed);
            // What took long is not made up for.
            next = (next + between).max(Instant::now());
            sleep(next.saturating_duration_since(Instant::now()));
        }
        said.into_iter().map(|said| said.map(|(_, length)| length)).collect()
    }

    /// Puts, reads or deletes an object; `said` is what it was put with last. Gives what is wrong.
    fn request(
        &self,
        turn: u32,
        n: u32,
        said: &mut Option<(u32, u64)>,
        random: &mut Stream,
    ) -> Result<Option<String>, Trouble> {
        let Setting { seed, max_bytes, patience, .. } = *self.setting;
        let objects = |round| Objects { seed, round, count: 0, max_bytes };
        let path = format!("/v2/{BUCKET}/{}", Objects::name(n));
        let key = u128::from(seed) << 64 | u128::from(turn) << 32 | u128::from(n);
        let refused = |answer: &super::asker::Answer| {
            Err(Trouble::Stuck(format!("slot:/{}: {}", &path[3..], answer.said())))
        };
        match random.below(10) {
            0..4 => {
                let content = objects(turn).content(n);
                let length = content.len() as u64;
                let answer =
                    self.asker.settled(&Ask::put(&path, content).with_key(key), patience)?;
                if answer.status >= 300 {
                    return refused(&answer);
                }
                *said = Some((turn, length));
            }
            4..6 => {
                let answer = self.asker.settled(&Ask::delete(&path).with_key(key), patience)?;
                if answer.status >= 300 && answer.status != 404 {
                    return refused(&answer);
                }
                *said = None;
            }
            _ => {
                let answer = self.asker.settled(&Ask::get(&path), patience)?;
                let is_right = match *said {
                    Some((round, _)) => {
                        answer.status == 200 && answer.body == objects(round).content(n)
                    }
                    None => answer.status == 404,
                };
                if !is_right {
                    let is = if said.is_some() { "there" } else { "deleted" };
                    let (status, length) = (answer.status, answer.body.len());
                    let what = format!(
                        "slot:/{} is {is}, and was read as {status} of {length} bytes",
                        &path[3..]
                    );
                    return Ok(Some(what));
                }
            }
        }
        Ok(None)
    }
}

/// What has grown between the second fifth of the samples and the last one.
fn growth(samples: &[Sample]) -> Vec<String> {
    let fifth = samples.len() / 5;
    if fifth == 0 {
        return Vec::new();
    }
    let (before, after) = (&samples[fifth..2 * fifth], &samples[samples.len() - fifth..]);
    type Of = fn(&Sample) -> u64;
    let all: [(&str, u64, Of); 5] = [
        ("bytes of memory", SLACK_BYTES, |of| of.memory_bytes),
        ("open files", SLACK_FILES, |of| of.open_files),
        ("threads", SLACK_FILES, |of| of.threads),
        ("replicas", 64, |of| of.replicas),
        ("segments", SLACK_FILES, |of| of.segments),
    ];
    let grown = all.into_iter().filter_map(|(what, slack, of)| {
        let mean = |samples: &[Sample]| samples.iter().map(of).sum::<u64>() / samples.len() as u64;
        let (before, after) = (mean(before), mean(after));
        (after > before + before * MAX_GROWTH / 100 + slack)
            .then(|| format!("{what} grow: {before} at first, {after} at the end"))
    });
    grown.collect()
}

/// The last words.
pub(super) fn summary(soaked: &Soaked) -> String {
    let requests = soaked.samples.last().map_or(0, |sample| sample.requests);
    let [held, should] = soaked.replicas;
    let verdict = match &soaked.wrong[..] {
        [] if soaked.is_long => "none wrong, nothing grows".into(),
        [] => "none wrong; 20 minutes at least say what grows".into(),
        wrong => wrong.join("\n  "),
    };
    format!("{requests} requests; {held} replicas held of {should}: {verdict}\n")
}

/// Above the lines of samples.
const HEAD: &str = "    at  requests  slowest  memory, MB  files  threads  replicas  segments\n";

fn line(sample: &Sample) -> String {
    let Sample { at_s, requests, slowest_ms, open_files, threads, replicas, segments, .. } = sample;
    let (minutes, seconds, memory) = (at_s / 60, at_s % 60, sample.memory_bytes / 1_000_000);
    format!(
        "{minutes:3}:{seconds:02} {requests:9} {slowest_ms:5} ms {memory:11} {open_files:6} {threads:8} {replicas:9} {segments:9}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told_and_a_line_fits() {
        let sample = |n: u64| Sample {
            memory_bytes: 900 << 20,
            open_files: 300 + n % 7,
            ..Sample::default()
        };
        let level: Vec<Sample> = (0..60).map(sample).collect();
        assert_eq!(growth(&level), Vec::<String>::new());
        let files = |n: u64| Sample { open_files: 300 + n * 2, ..sample(n) };
        assert!(growth(&(0..60).map(files).collect::<Vec<_>>())[0].starts_with("open files"));
        let memory = |n: u64| Sample { memory_bytes: (900 + n * 4) << 20, ..sample(n) };
        assert!(growth(&(0..60).map(memory).collect::<Vec<_>>())[0].starts_with("bytes"));
        assert_eq!(line(&sample(1)).len(), HEAD.len());
        assert!(HEAD.len() <= 80);
    }
}
