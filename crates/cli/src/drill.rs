//! `slotcast drill`: a job on real processes, while nodes and disks are lost.

mod asker;
mod cluster;
mod dip;
mod objects;
mod process;
mod round;
mod soak;
mod text;
mod trouble;
mod watch;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use slotcast_lab::InputError;
use slotcast_units::{Size, Span};

use self::asker::Asker;
use self::cluster::Cluster;
use self::round::{Round, Rounds, Setting};
use self::soak::Soaked;
use self::trouble::Trouble;
use crate::VERSION;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{INTERRUPTED, asked_to_stop};
use crate::output::{Destination, file_failed, print};
use crate::outputs::{Kind as FileKind, Outputs};
use crate::progress::Bar;

/// Exit status of a drill that has found something lost, wrong or stuck.
const FOUND: u8 = 1;

/// Kill nodes and take disks away while a job copies, and count what is lost; or let a cluster work for long
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast drill cp-rmnode                           a node is killed and taken out of the cluster map
  slotcast drill cp-rmdisk --rounds 20               a folder vanishes, and its target is replaced
  slotcast drill cp-kill-all --rounds 0              all processes are killed; until Ctrl-C
  slotcast drill cp-rmnode --seed 7 --json drill.json
  slotcast drill cp-rmdisk --folder /mnt/disk/drill --keep
  slotcast drill soak --lasts 1h --rate 40           no fault: nothing may grow, and all must be right

Five nodes of three folders each run as processes of this machine, beside an etcd that keeps their cluster map. Each
round puts new objects into one bucket, starts a job that copies them into another, and carries out the fault at a random
moment. It ends when the job is verified and every byte at both ends was read and compared, whatever the job says. Then
the cluster is made whole again: a new node joins, chunks and names have all their replicas.

A soak puts, reads and deletes objects at an even rate instead. Each minute it looks at the memory, open files and threads
of all nodes and at what they hold; in the end everything must be held in three replicas and no more.

The source has two replicas and the destination three, so that the job reads and stores content; a copy inside buckets of
the same redundancy is a name, and over too soon to be met by a fault.

Columns:
  at        when the fault came, after the beginning of the job
  goes on   from the fault to the next object at the destination; - if all were there
  verified  from the beginning of the job until it has compared both ends
  before    objects a second until the fault, or the last object if that came first
  dip       the lowest rate over half a second after it, and how much less that is
  back      from the fault until that rate, after its lowest, is 80 % of the one before; - if all was there first

Exit status: 0 if nothing was lost, wrong or stuck, 1 if anything was (the folder is kept then), 130 after Ctrl-C. No
process is left behind. See docs/operate/drills.md.")]
pub(crate) struct Arguments {
    /// What happens while the job copies
    kind: Kind,

    /// Rounds, one after another on the same cluster; 0 for no end, until Ctrl-C
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,

    /// Objects of each round
    #[arg(long, value_name = "N", default_value_t = 999, value_parser = clap::value_parser!(u32).range(1..=999_999))]
    objects: u32,

    /// Each object has from one byte to so many
    #[arg(long, value_name = "SIZE", default_value = "256KiB", value_parser = object_size)]
    size: Size,

    /// Objects, victims and moments follow from it; drawn and printed unless given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The fault comes at a random moment of so long after the job began
    #[arg(long, value_name = "TIME", default_value = "4s")]
    within: Span,

    /// How long a soak lasts
    #[arg(long, value_name = "TIME", default_value = "1h")]
    lasts: Span,

    /// Requests a second of a soak
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,

    /// How long anything may take: a job after the fault, the cluster to be whole
    #[arg(long, value_name = "TIME", default_value = "3min")]
    patience: Span,

    /// Where all files go: a folder that is empty or not there; a new temporary one unless given
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// Keep the files; those of a drill that has found something are always kept
    #[arg(long)]
    keep: bool,

    /// Write everything as JSON, with a sample each 100 ms; to stdout for `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What happens while the job copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
enum Kind {
    /// A node is killed and taken out of the map; a new one joins after the round
    #[value(name = "cp-rmnode")]
    #[serde(rename = "cp-rmnode")]
    RemoveNode,
    /// The folder of a target vanishes; the target is replaced, its node started anew
    #[value(name = "cp-rmdisk")]
    #[serde(rename = "cp-rmdisk")]
    RemoveDisk,
    /// All processes are killed at once, etcd too, and started again
    #[value(name = "cp-kill-all")]
    #[serde(rename = "cp-kill-all")]
    KillAll,
    /// Nothing; objects are put, read and deleted for long
    #[value(name = "soak")]
    #[serde(rename = "soak")]
    Soak,
}

fn object_size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error| format!("{error}"))?;
    let (min, max) = (Size::from_bytes(1), Size::from_bytes(64 << 20));
    match (min..=max).contains(&size) {
        true => Ok(size),
        false => Err(format!("from {min} to {max}")),
    }
}

/// The folder of a drill, which goes with it unless it is kept.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Whether it was made for this drill.
    is_made: bool,
    is_kept: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = cluster::clear(&self.path);
        if self.is_made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Folder {
    /// The one that was named, or a new temporary one.
    ///
    /// # Errors
    /// If anything is in it, or it cannot be made.
    fn open(named: Option<&Path>) -> Result<Folder, Failure> {
        let Some(path) = named else { return Folder::temporary() };
        let failed = |error| file_failed(path, error);
        let is_made = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            let message = format!("--folder: `{}` is not empty", path.display());
            let help =
                "a drill removes what is in its folder: name one that is empty, or not there";
            return Err(InputError::plain(message).with_help(Some(help.into())).into());
        }
        let path = fs::canonicalize(path).map_err(failed)?;
        Ok(Folder { path, is_made, is_kept: false })
    }

    fn temporary() -> Result<Folder, Failure> {
        let process = std::process::id();
        for attempt in 0..1000 {
            let path = std::env::temp_dir().join(format!("slotcast-drill-{process}-{attempt}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, is_made: true, is_kept: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(file_failed(&path, error)),
            }
        }
        Err(InputError::plain("there is no name left for a temporary folder").into())
    }
}

/// What is written as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    version: &'static str,
    drill: Kind,
    seed: u64,
    objects: u32,
    max_object_bytes: u64,
    within_ms: u64,
    /// Why it has ended before all rounds were over, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    rounds: &'a [Round],
    #[serde(skip_serializing_if = "Option::is_none")]
    soak: Option<&'a Soaked>,
}

/// What a drill found.
#[derive(Debug, Default)]
struct Found {
    rounds: Vec<Round>,
    soaked: Option<Soaked>,
}

impl Found {
    fn is_wrong(&self) -> bool {
        let rounds = self.rounds.iter().any(|round| !round.wrong.is_empty());
        rounds || self.soaked.as_ref().is_some_and(|soaked| !soaked.wrong.is_empty())
    }

    /// The last words.
    fn told(&self) -> String {
        match (&self.soaked, &self.rounds[..]) {
            (Some(soaked), _) => soak::summary(soaked),
            (None, []) => String::new(),
            (None, rounds) => format!("\n{}{}", text::rounds(rounds), text::summary(rounds)),
        }
    }
}

/// A number that nobody has chosen, short enough to be typed.
fn drawn_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    let failed = |error| InputError::plain(format!("no random numbers: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let json = Outputs::default().file("--json", arguments.json.as_deref(), FileKind::Json)?;
    cluster::must_have_etcd()?;
    let longest = Size::from_bytes(soak::MAX_BYTES);
    if arguments.kind == Kind::Soak && arguments.size > longest {
        let message = format!("--size: a soak has objects of {longest} at most, of one chunk each");
        return Err(InputError::plain(message).into());
    }
    let seed = arguments.seed.map_or_else(drawn_seed, Ok)?;
    let setting = Setting {
        kind: arguments.kind,
        seed,
        objects: arguments.objects,
        max_bytes: arguments.size.as_bytes(),
        within: duration(arguments.within),
        patience: duration(arguments.patience),
    };
    let stop = asked_to_stop()?;
    let mut folder = Folder::open(arguments.folder.as_deref())?;
    folder.is_kept = arguments.keep;
    let is_quiet = json.as_ref().is_some_and(Destination::is_stdout);
    let mut found = Found::default();
    let ended = drill(&setting, arguments, &folder.path, (stop, is_quiet), &mut found);
    let problem = match &ended {
        Err(Trouble::Failure(_)) | Ok(()) => None,
        Err(trouble) => Some(trouble.to_string()),
    };
    if let Some(json) = &json {
        let report = Report {
            schema: 1,
            version: VERSION,
            drill: arguments.kind,
            seed,
            objects: setting.objects,
            max_object_bytes: setting.max_bytes,
            within_ms: arguments.within.as_ns() / 1_000_000,
            problem: problem.clone(),
            rounds: &found.rounds,
            soak: found.soaked.as_ref(),
        };
        json.write_json(&report)?;
    }
    if !is_quiet {
        print(&found.told())?;
    }
    let is_wrong = found.is_wrong();
    let is_interrupted = matches!(ended, Err(Trouble::Interrupted));
    if let Err(Trouble::Failure(failure)) = ended {
        return Err(failure);
    }
    if is_wrong || (ended.is_err() && !is_interrupted) {
        folder.is_kept = true;
        let problem = problem.unwrap_or_else(|| "something is lost, wrong or grows".into());
        eprintln!("{problem}\nseed {seed}; files and logs are kept in {}", folder.path.display());
        return Ok(ExitCode::from(FOUND));
    }
    if folder.is_kept && !is_quiet {
        print(&format!("files and logs are kept in {}\n", folder.path.display()))?;
    }
    Ok(if is_interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Carries out a soak or so many rounds, or all until it is stopped for 0. What they found is added to `found`; all processes
/// are gone when this returns.
fn drill(
    setting: &Setting,
    arguments: &Arguments,
    folder: &Path,
    (stop, is_quiet): (Arc<std::sync::atomic::AtomicBool>, bool),
    found: &mut Found,
) -> Result<(), Trouble> {
    let bar = Bar::steps();
    let say = |text: String| if is_quiet { Ok(()) } else { bar.suspend(|| print(&text)) };
    let Setting { seed, patience, .. } = *setting;
    let (nodes, targets) = (cluster::NODES, cluster::TARGETS_PER_NODE);
    say(format!("seed {seed}; {nodes} nodes of {targets} folders each in {}\n", folder.display()))?;
    bar.begin("the nodes start".into(), 1);
    let asker = Arc::new(Asker::new(stop));
    let mut cluster = Cluster::start(folder, asker.clone(), patience)?;
    if setting.kind == Kind::Soak {
        let pace = (duration(arguments.lasts), arguments.rate);
        let soaked = soak::soak(setting, pace, &mut cluster, &asker, (&bar, is_quiet))?;
        found.soaked = Some(soaked);
        bar.finish();
        return Ok(());
    }
    let last = if arguments.rounds == 0 { u32::MAX } else { arguments.rounds };
    for number in 1..=last {
        let cluster = &mut cluster;
        let mut rounds = Rounds { setting, cluster, asker: asker.clone(), bar: &bar, is_quiet };
        let round = rounds.round(number)?;
        say(format!(
            "\n{}\n{}\n",
            text::rounds(std::slice::from_ref(&round)),
            text::chart(&round)
        ))?;
        let wrong = round.wrong.clone();
        found.rounds.push(round);
        if !wrong.is_empty() {
            return Err(Trouble::Stuck(format!("round {number}:\n  {}", objects::told(&wrong))));
        }
        // The next round needs a cluster that bears a fault; after the last one that is looked at, too.
        if let Some(round) = found.rounds.last() {
            rounds.tidy_up(round)?;
        }
    }
    bar.finish();
    Ok(())
}
