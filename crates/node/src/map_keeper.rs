//! Reads the cluster map for a member, and writes what the member proposes.
//!
//! In etcd the map is watched by a thread of its own; a file is read again when the node is told to. Every map
//! that is read goes to the member, which decides whether to follow it. What it proposes is written by
//! compare-and-swap, so that of several changes at once none is lost.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use slotcast_member::ClusterMap;

use crate::cluster::{Etcd, MapSource, NodeFile, map_text, parse_map};
use crate::mailbox::Mailbox;
use crate::reactor::MapToKeep;

/// How long a watch lasts until the map is read anyway: an etcd that has fallen silent is noticed by that, and
/// so is what this node has to say.
const WATCH: Duration = Duration::from_secs(2);

/// From a failed attempt to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// See the [module](self). Dropping it ends its thread soon.
#[derive(Debug)]
pub(crate) struct MapKeeper {
    following: Arc<Following>,
    stops: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Following {
    file: NodeFile,
    mailbox: Mailbox,
    to_keep: MapToKeep,
    turn: Mutex<()>,
    /// Why the newest map is not known.
    problem: Mutex<Option<String>>,
}

impl MapKeeper {
    /// Begins to follow the map that `file` names, for the member in `mailbox`.
    pub(crate) fn start(
        file: &NodeFile,
        mailbox: Mailbox,
        to_keep: MapToKeep,
    ) -> io::Result<MapKeeper> {
        let stops = Arc::new(AtomicBool::new(false));
        file.keep(&file.map);
        let problem = Mutex::new(file.warning.clone());
        let following = Arc::new(Following {
            file: file.clone(),
            mailbox,
            to_keep,
            turn: Mutex::new(()),
            problem,
        });
        if let MapSource::Etcd(address) = &file.source {
            let (etcd, stops, following) =
                (Etcd::new(address.clone()), stops.clone(), following.clone());
            thread::Builder::new()
                .name("map".into())
                .spawn(move || following.watch(&etcd, &stops))?;
        }
        Ok(MapKeeper { following, stops })
    }

    pub(crate) fn source(&self) -> &MapSource {
        &self.following.file.source
    }

    /// Why the newest map is not known, or not followed.
    pub(crate) fn problem(&self) -> Option<String> {
        lock(&self.following.problem).clone()
    }

    /// Reads the map again, and follows it if that may be.
    pub(crate) fn read_again(&self) {
        let following = &self.following;
        let problem = match following.file.source.load() {
            Ok(found) => following.found(found.map),
            Err(error) => Some(error.to_string()),
        };
        following.set_problem(problem);
    }
}

impl Drop for MapKeeper {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Following {
    fn watch(&self, etcd: &Etcd, stops: &AtomicBool) {
        while !stops.load(Ordering::Relaxed) {
            let problem = self.look(etcd);
            let is_away = problem.as_ref().is_err();
            self.set_problem(problem.unwrap_or_else(Some));
            if is_away {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Reads the map, tells the member, writes what it proposes, and waits for the next. What keeps the member
    /// from following the map is given; an error if there was nobody to wait with.
    fn look(&self, etcd: &Etcd) -> Result<Option<String>, String> {
        let keeps = |problem: String| match self.epoch() {
            Some(epoch) => format!("{problem}; the node goes on with epoch {epoch}"),
            None => problem,
        };
        let stored = etcd.get().map_err(|error| keeps(error.to_string()))?;
        let Some(stored) = stored else {
            return Err(keeps(format!("{}: there is no cluster map any more", self.file.source)));
        };
        let (epoch, problem) = match parse_map(&self.file.source.to_string(), &stored.text) {
            Ok(map) => (Some(map.epoch), self.found(map)),
            Err(error) => (None, Some(error.to_string())),
        };
        self.set_problem(problem.clone().map(keeps));
        if problem.is_none()
            && let Some(next) = self.proposal_after(epoch)
        {
            etcd.replace(Some(stored.revision), &map_text(&next))
                .map_err(|error| keeps(error.to_string()))?;
            return Ok(None);
        }
        etcd.wait(stored.revision, WATCH).map_err(|error| keeps(error.to_string()))?;
        Ok(problem.map(keeps))
    }

    fn set_problem(&self, problem: Option<String>) {
        let mut known = lock(&self.problem);
        match (&*known, &problem) {
            (None, Some(cause)) => tracing::warn!(%cause, "cluster map not up to date"),
            (Some(_), None) => tracing::info!("cluster map up to date again"),
            _ => {}
        }
        *known = problem;
    }

    /// Tells the member of a map, and keeps a copy if it follows it. Gives why it does not.
    fn found(&self, map: ClusterMap) -> Option<String> {
        // One at a time, so that no earlier map is kept after a later one.
        let _turn = lock(&self.turn);
        let problem = self.mailbox.enter(|reactor| {
            reactor.read(map);
            reactor.member().membership_status()
        });
        // Not while the member may wait for the lock: a disk may take long.
        let to_keep = lock(&self.to_keep).take();
        if let Some(map) = to_keep {
            self.file.keep(&map);
        }
        problem.flatten().and_then(|status| status.problem)
    }

    /// The epoch that the member follows.
    fn epoch(&self) -> Option<u32> {
        let status = self.mailbox.enter(|reactor| reactor.member().membership_status());
        status.flatten().map(|status| status.epoch)
    }

    /// What the member proposes in the place of the map of this epoch.
    fn proposal_after(&self, epoch: Option<u32>) -> Option<ClusterMap> {
        let proposed = self.mailbox.enter(|reactor| reactor.member().proposal()).flatten();
        proposed.filter(|next| epoch.and_then(|epoch| epoch.checked_add(1)) == Some(next.epoch))
    }
}
