//! Keeps a node up to date with the cluster map, and says in the map how far the node is.
//!
//! In etcd the map is watched by a thread of its own; a file is read again when the node is told to. A map that
//! may follow the present one goes to the reactor. A node that joins becomes active by its own hand when it
//! hears the others, and one that drains says itself that it is drained: both by compare-and-swap, so that of
//! several changes at once none is lost.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use slotcast_protocol::Membership;

use crate::cluster::{ClusterMap, Etcd, MapSource, NodeFile, map_text, parse_map};
use crate::mailbox::Mailbox;
use crate::network::Shared;
use crate::reactor::Event;

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
    shared: Arc<Shared>,
    mailbox: Mailbox,
    /// The map that the node has.
    map: Mutex<ClusterMap>,
}

impl MapKeeper {
    /// Begins to follow the map that `file` names.
    pub(crate) fn start(
        file: &NodeFile,
        shared: Arc<Shared>,
        mailbox: Mailbox,
    ) -> io::Result<MapKeeper> {
        let stops = Arc::new(AtomicBool::new(false));
        shared.standing().problem = file.warning.clone();
        file.keep(&file.map);
        let map = Mutex::new(file.map.clone());
        let following = Arc::new(Following { file: file.clone(), shared, mailbox, map });
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

    /// Reads the map again, and takes it if it may follow.
    pub(crate) fn read_again(&self) {
        let following = &self.following;
        let problem = match following.file.source.load() {
            Ok(found) => following.found(found.map).err(),
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

    /// Reads the map, takes it, says what this node has to say, and waits for the next. What keeps the node
    /// from taking the map is given; an error if there was nobody to wait with.
    fn look(&self, etcd: &Etcd) -> Result<Option<String>, String> {
        let epoch = self.present().epoch;
        let keeps = |problem: String| format!("{problem}; the node goes on with epoch {epoch}");
        let stored = etcd.get().map_err(|error| keeps(error.to_string()))?;
        let Some(stored) = stored else {
            return Err(keeps(format!("{}: there is no cluster map any more", self.file.source)));
        };
        let map = parse_map(&self.file.source.to_string(), &stored.text);
        let problem = match map {
            Ok(map) => self.found(map).err(),
            Err(error) => Some(error.to_string()),
        };
        self.set_problem(problem.clone().map(keeps));
        if problem.is_none()
            && let Some(next) = self.own_step()
        {
            etcd.replace(Some(stored.revision), &map_text(&next))
                .map_err(|error| keeps(error.to_string()))?;
            return Ok(None);
        }
        etcd.wait(stored.revision, WATCH).map_err(|error| keeps(error.to_string()))?;
        Ok(problem.map(keeps))
    }

    fn set_problem(&self, problem: Option<String>) {
        let mut standing = self.shared.standing();
        match (&standing.problem, &problem) {
            (None, Some(cause)) => tracing::warn!(%cause, "cluster map not up to date"),
            (Some(_), None) => tracing::info!("cluster map up to date again"),
            _ => {}
        }
        standing.problem = problem;
    }

    fn present(&self) -> ClusterMap {
        self.map.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes `map` if it is another, and may follow.
    fn found(&self, map: ClusterMap) -> Result<(), String> {
        let mut present = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        if map == *present {
            return Ok(());
        }
        map.may_follow(&present)?;
        let number = self.file.node;
        let (Some(node), Some(before)) = (map.node(number), present.node(number)) else {
            return Err(format!(
                "epoch {} is without node {number}: this node is out of the cluster, and may be stopped",
                map.epoch
            ));
        };
        if (&node.targets, node.address) != (&before.targets, before.address) {
            return Err(format!(
                "node {number} has other targets, or another address: start it anew to take that"
            ));
        }
        tracing::info!(epoch = map.epoch, state = node.state(), "cluster map taken");
        self.file.keep(&map);
        self.mailbox.put(Event::Map(Box::new(map.clone())));
        *present = map;
        Ok(())
    }

    /// What this node has to say in the map.
    fn own_step(&self) -> Option<ClusterMap> {
        let map = self.present();
        let number = self.file.node;
        match map.node(number)?.membership {
            Membership::Joining if self.shared.hears_most() => map.with_active(number).ok(),
            Membership::Draining if self.shared.has_handed_over(map.epoch) => {
                map.with_drained(number).ok()
            }
            _ => None,
        }
    }
}
