//! When native HTTP asks for credentials.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Access, LIFE, users};

/// When native HTTP asks for credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Never: whoever reaches the node may do everything.
    Never,
    /// From the moment on at which there is a user. Only for addresses of the loopback.
    IfUsers,
    /// Always.
    Always,
}

/// How long a request waits to hear whether there are users, where it was known a while ago.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a request waits where it was never known: a node that has just started hears others first.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);

/// How long is waited before that is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether there are users, as it was found last.
#[derive(Debug)]
pub(super) struct Knowledge {
    state: Mutex<State>,
    /// Counts answers.
    answers: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    there_are: Option<bool>,
    asked: Option<Instant>,
    /// What asks at present.
    asking: Option<JoinHandle<()>>,
    changes: u64,
}

impl Default for Knowledge {
    fn default() -> Knowledge {
        Knowledge { state: Mutex::default(), answers: watch::channel(0).0 }
    }
}

impl Knowledge {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.changes += 1;
        state.asked = None;
    }
}

impl Access {
    /// Whether there are users; none while it is not known. Where too few voters answer, what was known last is believed: a
    /// node that knows of none then serves this machine as before. With `waits` it is asked first if it was long ago.
    async fn has_users(&self, waits: bool, needs_names: bool) -> Option<bool> {
        let begun = Instant::now();
        loop {
            let known = self.look(waits, needs_names).await;
            if known.is_some() || !needs_names || begun.elapsed() >= FIRST_PATIENCE {
                return known;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The same, asked once at most. Where it was never known, as in a cluster that cannot keep names, what needs none does
    /// not wait for an answer that may never come.
    async fn look(&self, waits: bool, needs_names: bool) -> Option<bool> {
        let knowledge = &self.inner.knowledge;
        let mut answers = knowledge.answers.subscribe();
        let known = {
            let mut state = knowledge.state();
            if state.asked.is_some_and(|asked| asked.elapsed() < LIFE) {
                return state.there_are;
            }
            if state.asking.is_none() {
                let access = self.clone();
                state.asking = Some(tokio::spawn(async move { access.ask().await }));
            }
            state.there_are
        };
        if waits && (needs_names || known.is_some()) {
            let _ = tokio::time::timeout(PATIENCE, answers.changed()).await;
        }
        knowledge.state().there_are
    }

    /// Nothing is asked any more, and the node is let go.
    pub(crate) async fn stop(&self) {
        let asking = self.inner.knowledge.state().asking.take();
        if let Some(asking) = asking {
            asking.abort();
            let _ = asking.await;
        }
    }

    async fn ask(&self) {
        let knowledge = &self.inner.knowledge;
        let (begun, changes) = (Instant::now(), knowledge.state().changes);
        let found = users::any(&self.inner.node).await;
        let mut state = knowledge.state();
        state.asking = None;
        match found {
            Ok(there_are) => state.there_are = Some(there_are),
            Err(error) => tracing::debug!(%error, "whether there are users is not known"),
        }
        if state.changes == changes {
            state.asked = Some(begun);
        }
        drop(state);
        knowledge.answers.send_modify(|count| *count += 1);
    }

    /// Whether whoever has no credentials may do everything, since nobody has any; none while it is not known. Questions how
    /// the node is do not wait for others, and what `needs_names` waits until it is known, if that takes not too long.
    pub(super) async fn is_open(&self, waits: bool, needs_names: bool) -> Option<bool> {
        match self.inner.config.demand {
            Demand::Never => Some(true),
            Demand::Always => Some(false),
            Demand::IfUsers => self.has_users(waits, needs_names).await.map(|there_are| !there_are),
        }
    }
}
