//! What happens on a node, left for its machines.
//!
//! No thread waits for it: whoever leaves an event works the machines at once, unless another thread is at it, which
//! then takes this event, too. To wake a thread takes tens of microseconds where a processor is asleep, more than
//! everything that a machine does, and a put would wait for that twice, at its beginning and at its end. A thread of
//! its own remains for what is due at a time, and for what is left when there is much.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;
use std::{fmt, io};

use crossbeam_channel::{Receiver, Sender, unbounded};
use slotcast_member::{Counters, Link};
use slotcast_protocol::GroupId;
use slotcast_transport::Datagram;
use slotcast_units::Time;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::network::{Listener, Post};
use crate::reactor::{Event, Reactor};

impl Listener for Mailbox {
    fn heard(
        &self,
        via: Option<GroupId>,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, Datagram<'_>)>,
    ) -> Option<Counters> {
        self.enter(|reactor| {
            reactor.datagrams(via, datagrams);
            reactor.member().link().map(Link::counters)
        })?
    }

    fn left(&self, transfer: u32) {
        self.put(Event::Left(transfer));
    }
}

/// Events that a thread takes before it goes on with what it was about.
const MOST: usize = 64;

enum Machines {
    /// Events wait until there are any.
    Starting,
    /// The thread sleeps until this time.
    Running(Box<Reactor>, Time),
    /// One of them has panicked: none of them is used any more. The thread drops them, since whoever worked them may
    /// be one that their disks wait for.
    Failed(Box<Reactor>),
    /// Events are dropped, and whoever waits for an answer learns that none will come.
    Stopped,
}

impl Machines {
    /// What is to be sent when the lock is free again.
    fn take_post(&mut self) -> Option<Post> {
        match self {
            Machines::Running(reactor, _) => reactor.take_post(),
            _ => None,
        }
    }
}

struct Shared {
    clock: Clock,
    leave: Sender<Event>,
    left: Receiver<Event>,
    machines: Mutex<Machines>,
    thread: OnceLock<Thread>,
    has_failed: watch::Sender<bool>,
}

/// Where events are left. Clones are the same mailbox.
#[derive(Clone)]
pub(crate) struct Mailbox(Arc<Shared>);

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("left", &self.0.left.len()).finish_non_exhaustive()
    }
}

impl Mailbox {
    /// One without machines yet.
    pub(crate) fn new(clock: Clock) -> Mailbox {
        let (leave, left) = unbounded();
        let machines = Mutex::new(Machines::Starting);
        let has_failed = watch::Sender::new(false);
        Mailbox(Arc::new(Shared {
            clock,
            leave,
            left,
            machines,
            thread: OnceLock::new(),
            has_failed,
        }))
    }

    /// Gives it its machines, and starts its thread.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn start(&self, mut reactor: Reactor) -> io::Result<JoinHandle<()>> {
        reactor.begin();
        *self.lock() = Machines::Running(Box::new(reactor), Time::ZERO);
        let mailbox = self.clone();
        let thread = thread::Builder::new().name("reactor".into()).spawn(move || mailbox.run());
        thread.inspect_err(|_| self.stop())
    }

    /// Lets the machines know.
    pub(crate) fn put(&self, event: Event) {
        // The receiver lives as long as the sender: this cannot fail.
        let _ = self.0.leave.send(event);
        self.work();
    }

    /// Takes the machines away.
    pub(crate) fn stop(&self) {
        let machines = std::mem::replace(&mut *self.lock(), Machines::Stopped);
        self.wake();
        self.work();
        // Disks end what they are at, and report it, to nobody.
        drop(machines);
    }

    /// Works the machines with `act`, waiting for its turn; none if there are none, or one has panicked. For who
    /// has something that cannot be left, as what lies in a buffer that is used again.
    pub(crate) fn enter<T>(&self, act: impl FnOnce(&mut Reactor) -> T) -> Option<T> {
        let mut machines = self.lock();
        let Machines::Running(reactor, _) = &mut *machines else { return None };
        let result = catch_unwind(AssertUnwindSafe(|| act(reactor))).ok();
        if result.is_none() {
            self.fail(&mut machines);
        }
        let post = machines.take_post();
        drop(machines);
        post.into_iter().for_each(Post::send);
        self.work();
        result
    }

    /// A machine has panicked.
    fn fail(&self, machines: &mut Machines) {
        if let Machines::Running(reactor, _) = std::mem::replace(machines, Machines::Stopped) {
            *machines = Machines::Failed(reactor);
            self.0.has_failed.send_replace(true);
            self.wake();
        }
    }

    /// Ends when a machine has panicked.
    pub(crate) fn failed(&self) -> impl Future<Output = ()> + use<> {
        let mut has_failed = self.0.has_failed.subscribe();
        async move {
            if has_failed.wait_for(|has_failed| *has_failed).await.is_err() {
                // It is gone, and has not failed.
                std::future::pending::<()>().await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Machines> {
        self.0.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_what_is_left(&self) {
        self.0.left.try_iter().for_each(drop);
    }

    fn wake(&self) {
        if let Some(thread) = self.0.thread.get() {
            thread.unpark();
        }
    }

    /// Takes up to `most` events, and does what is due. The result is how many it took, and when something is due
    /// next; none if there are no machines, or one has panicked.
    fn advance(&self, machines: &mut Machines, most: usize) -> Option<(usize, Time)> {
        let Machines::Running(reactor, _) = machines else { return None };
        let work = || {
            let mut taken = 0;
            while taken < most
                && let Ok(event) = self.0.left.try_recv()
            {
                reactor.event(event);
                taken += 1;
            }
            loop {
                reactor.run_due(self.0.clock.now());
                // What became due meanwhile need not wake a thread.
                if reactor.next() > self.0.clock.now() {
                    return (taken, reactor.next());
                }
            }
        };
        let worked = catch_unwind(AssertUnwindSafe(work)).ok();
        if worked.is_none() {
            self.fail(machines);
        }
        worked
    }

    /// Works the machines until nothing is left, unless somebody else does.
    fn work(&self) {
        let mut most = MOST;
        loop {
            // Either whoever has the lock sees the event when the lock is free again, or this thread gets it.
            fence(Ordering::SeqCst);
            let mut machines = match self.0.machines.try_lock() {
                Ok(machines) => machines,
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            };
            if matches!(&*machines, Machines::Starting) {
                return;
            }
            match (self.advance(&mut machines, most), &mut *machines) {
                (Some((taken, next)), Machines::Running(_, sleeps_until)) => {
                    most -= taken;
                    // The thread goes on, where this one has done its share.
                    let next = if most == 0 { Time::ZERO } else { next };
                    let is_to_wake = next < *sleeps_until;
                    if is_to_wake {
                        *sleeps_until = next;
                    }
                    let post = machines.take_post();
                    // Else it is awake, or about to be.
                    if is_to_wake || most == 0 {
                        drop(machines);
                        if is_to_wake {
                            self.wake();
                        }
                        return post.into_iter().for_each(Post::send);
                    }
                    drop(machines);
                    post.into_iter().for_each(Post::send);
                }
                _ => {
                    self.drop_what_is_left();
                    drop(machines);
                }
            }
            fence(Ordering::SeqCst);
            if self.0.left.is_empty() {
                return;
            }
        }
    }

    /// The thread: what is due, and what the others leave.
    fn run(&self) {
        // Before it sleeps for the first time, it can be woken.
        let _ = self.0.thread.set(thread::current());
        // Windows are tens of microseconds long, and the kernel may add 50 to each sleep (prctl(2)).
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        loop {
            let mut machines = self.lock();
            let Some((taken, next)) = self.advance(&mut machines, MOST) else {
                let ended = std::mem::replace(&mut *machines, Machines::Stopped);
                drop(machines);
                self.work();
                if let Machines::Failed(reactor) = ended {
                    tracing::error!("a machine has panicked: the node ends");
                    drop(reactor);
                }
                return;
            };
            let wakes_at = if taken == MOST { Time::ZERO } else { next };
            if let Machines::Running(_, sleeps_until) = &mut *machines {
                *sleeps_until = wakes_at;
            }
            let post = machines.take_post();
            drop(machines);
            post.into_iter().for_each(Post::send);
            fence(Ordering::SeqCst);
            if self.0.left.is_empty() {
                let rest = wakes_at.saturating_since(self.0.clock.now());
                thread::park_timeout(Duration::from_nanos(rest.as_ns()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicUsize;

    use bytes::Bytes;
    use slotcast_protocol::Claim;
    use slotcast_store::Content;
    use tokio::sync::oneshot;

    use super::*;
    use crate::{Node, NodeConfig};

    fn node(folder: &Path) -> Node {
        let config = NodeConfig { register: None, ..NodeConfig::of_three(folder) };
        Node::start(&config).expect("it starts")
    }

    /// Of threads that leave events at the same time, the last one to go sees to it that all are taken: there is
    /// no other thread here that would.
    #[test]
    fn no_event_is_left_lying() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = node(folder.path());
        let machines = std::mem::replace(&mut *node.mailbox.lock(), Machines::Stopped);
        let mailbox = Mailbox::new(node.mailbox.0.clock);
        *mailbox.lock() = machines;
        // Both leave one at the same time, again and again: a thread that slept in between would come late.
        let turns = AtomicUsize::new(0);
        let both_are_at = |turn: usize| {
            turns.fetch_add(1, Ordering::SeqCst);
            while turns.load(Ordering::SeqCst) < 2 * turn {
                thread::yield_now();
            }
        };
        let leave = || {
            for round in 0..5_000 {
                both_are_at(2 * round + 1);
                mailbox.put(Event::Look(Box::new(|_, _| {})));
                both_are_at(2 * round + 2);
                assert!(mailbox.0.left.is_empty(), "round {round}");
            }
        };
        thread::scope(|scope| {
            scope.spawn(leave);
            leave();
        });
        mailbox.stop();
    }

    #[test]
    fn without_machines_events_wait_and_at_the_end_nobody_waits() {
        let mailbox = Mailbox::new(Clock::start());
        let ask = || {
            let (reply, answer) = oneshot::channel();
            mailbox.put(Event::Look(Box::new(move |_, _| {
                let _ = reply.send(());
            })));
            answer
        };
        let mut early = ask();
        assert_eq!(early.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        mailbox.stop();
        for mut answer in [early, ask()] {
            assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        }
    }

    #[test]
    fn after_a_panic_nobody_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = node(folder.path());
        let (reply, before) = oneshot::channel();
        node.mailbox.put(Event::Put(
            Content::of(Bytes::from_static(b"x")),
            (None, Claim::Bare),
            reply,
        ));
        // No cluster has so many, and `Node::put_on` refuses it.
        let (reply, wrong) = oneshot::channel();
        node.mailbox.put(Event::Put(
            Content::of(Bytes::from_static(b"y")),
            (Some(200), Claim::Bare),
            reply,
        ));
        assert!(wrong.blocking_recv().is_err());
        let _ = before.blocking_recv();
        assert!(node.most_replicas().blocking_recv().is_err());
    }
}
