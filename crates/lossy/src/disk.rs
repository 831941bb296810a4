//! The mounted file system, as a test handles it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{BackgroundSession, Config, MountOption};
use rustix::mount::UnmountFlags;
use slotcast_random::Streams;

use crate::faults::{Effect, Operation, Rule, matches};
use crate::filesystem::Glue;
use crate::volume::{Attributes, Error, Inode, Loss, Volume};

/// A rule that was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(u64);

/// Whether the disk works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    /// Off when so many more of these operations were asked for, and then one more.
    CutAt(&'static [Operation], u64),
    Off,
}

/// What a request may do, or why it fails.
pub(crate) type Turn<'a> = Result<Grant<'a>, Error>;

/// Leave to carry a request out, or to say so.
pub(crate) struct Grant<'a> {
    pub(crate) volume: &'a mut Volume,
    /// It is to be answered and not to be carried out.
    pub(crate) is_lie: bool,
}

/// What the kernel has asked for: carried out, and answered, by the task.
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) inode: Inode,
    /// Of a name in the folder `inode`.
    pub(crate) name: Option<OsString>,
    pub(crate) task: Box<dyn FnOnce(Turn<'_>) + Send>,
}

/// All that a file system is, whether mounted or not.
pub(crate) struct State {
    pub(crate) volume: Volume,
    /// What a folder held when it was opened, by handle.
    pub(crate) listings: BTreeMap<u64, Vec<(Attributes, OsString)>>,
    pub(crate) next_handle: u64,
    rules: BTreeMap<RuleId, Rule>,
    next_rule: u64,
    /// Not answered because of a rule, oldest first.
    stalled: Vec<(RuleId, Request)>,
    power: Power,
}

impl State {
    fn new() -> State {
        State {
            volume: Volume::new(),
            listings: BTreeMap::new(),
            next_handle: 1,
            rules: BTreeMap::new(),
            next_rule: 0,
            stalled: Vec::new(),
            power: Power::On,
        }
    }

    /// Answers a request now, or when the rule that stalls it is withdrawn.
    pub(crate) fn handle(&mut self, request: Request) {
        self.power = match self.power {
            Power::CutAt(operations, more) if operations.contains(&request.operation) => {
                more.checked_sub(1).map_or(Power::Off, |more| Power::CutAt(operations, more))
            }
            power => power,
        };
        if self.power == Power::Off {
            return (request.task)(Err(Error::Io));
        }
        let mut path = self.volume.path(request.inode);
        path.extend(&request.name);
        let mut effects = self.rules.iter();
        let effect =
            effects.find_map(|(id, rule)| Some((*id, rule.effect(request.operation, &path)?)));
        let is_lie = match effect {
            None => false,
            Some((_, Effect::Lie)) => true,
            Some((_, Effect::Fail(error))) => return (request.task)(Err(error)),
            Some((id, Effect::Stall)) => return self.stalled.push((id, request)),
        };
        (request.task)(Ok(Grant { volume: &mut self.volume, is_lie }));
    }

    fn withdraw(&mut self, id: RuleId) {
        self.rules.remove(&id);
        let stalled = std::mem::take(&mut self.stalled);
        let (now, later): (Vec<_>, Vec<_>) = stalled.into_iter().partition(|(of, _)| *of == id);
        self.stalled = later;
        now.into_iter().for_each(|(_, request)| self.handle(request));
    }

    fn cut_power(&mut self) {
        self.power = Power::Off;
        for (_, request) in std::mem::take(&mut self.stalled) {
            (request.task)(Err(Error::Io));
        }
    }
}

/// State that the kernel's requests and the test share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file system in memory, mounted at a folder until it is dropped. Processes that have files open on it must have
/// ended by then.
pub struct LossyDisk {
    at: PathBuf,
    shared: Shared,
    /// None while the power is restored.
    session: Option<BackgroundSession>,
}

/// Threads that serve the kernel.
const THREADS: usize = 2;

fn mount(shared: &Shared, at: &Path) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("slotcast-lossy".into())];
    config.n_threads = Some(THREADS);
    fuser::spawn_mount(Glue::new(shared.clone()), at, &config)
}

/// Unmounts, and waits for the threads that serve the kernel.
fn unmount(session: BackgroundSession) -> io::Result<()> {
    match session.umount_and_join() {
        // A thread was just reading a request that nobody waits for any more.
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(()),
        result => result,
    }
}

impl LossyDisk {
    /// Mounts an empty file system at the folder `at`, which must be there.
    ///
    /// # Errors
    /// If there is no `/dev/fuse`, or the process may not mount: tests skip then.
    pub fn mount(at: &Path) -> io::Result<LossyDisk> {
        let shared = Shared(Arc::new(Mutex::new(State::new())));
        let session = Some(mount(&shared, at)?);
        Ok(LossyDisk { at: at.to_path_buf(), shared, session })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Adds a rule. Of several that concern an operation the oldest counts.
    pub fn inject(&self, rule: Rule) -> RuleId {
        let mut state = self.shared.lock();
        let id = RuleId(state.next_rule);
        state.next_rule += 1;
        state.rules.insert(id, rule);
        id
    }

    /// Takes a rule away. What it has stalled is carried out now.
    pub fn withdraw(&self, id: RuleId) {
        self.shared.lock().withdraw(id);
    }

    /// Number of requests that are stalled.
    pub fn stalled(&self) -> usize {
        self.shared.lock().stalled.len()
    }

    /// The power fails: from now on every operation gets `EIO` and nothing changes, until the power is restored. What
    /// is stalled gets `EIO`, too.
    pub fn cut_power(&self) {
        self.shared.lock().cut_power();
    }

    /// The power fails when one of these `operations` is asked for and `more` of them were before, from now on. That
    /// one is not carried out any more.
    pub fn cut_power_at(&self, operations: &'static [Operation], more: u64) {
        self.shared.lock().power = Power::CutAt(operations, more);
    }

    /// Whether the power has failed and was not restored.
    pub fn is_cut(&self) -> bool {
        self.shared.lock().power == Power::Off
    }

    /// Forgets what was not flushed, as `seed` draws it, and mounts what is left. If the power is on it fails now.
    /// Rules stay.
    ///
    /// # Errors
    /// If a process still has files open there, or mounting fails.
    pub fn restore_power(&mut self, seed: u64) -> io::Result<Loss> {
        self.cut_power();
        self.session.take().map_or(Ok(()), unmount)?;
        let loss = {
            let mut state = self.shared.lock();
            state.listings.clear();
            state.power = Power::On;
            state.volume.lose_power(&mut Streams::new(seed).stream("power loss", 0))
        };
        self.session = Some(mount(&self.shared, &self.at)?);
        Ok(loss)
    }

    /// Changes one bit in a file whose path is as [`Rule::new`] has it, on stable storage, too. Returns the file and the
    /// offset of the byte; none if no such file has content. Where a file has zeros nothing rots.
    pub fn rot(&self, path: &str, seed: u64) -> Option<(PathBuf, u64)> {
        let mut random = Streams::new(seed).stream("rot", 0);
        self.shared.lock().volume.rot(|file| matches(path, file), &mut random)
    }
}

impl Drop for LossyDisk {
    fn drop(&mut self) {
        // Whoever still waits is answered, or unmounting would wait for it.
        self.cut_power();
        if let Some(session) = self.session.take()
            && let Err(error) = unmount(session)
        {
            eprintln!("still in use: `{}`: {error}", self.at.display());
        }
        // If somebody still has files open there, at least its place is free.
        let _ = rustix::mount::unmount(&self.at, UnmountFlags::DETACH);
    }
}
