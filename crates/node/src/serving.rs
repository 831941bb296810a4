//! Serves a node over HTTP until it is told to stop, or cannot go on.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::access::{Access, AccessConfig};
use crate::audit::Audit;
use crate::connections;
use crate::door::{Courtesy, Door, NATIVE};
use crate::events_http::Feed;
use crate::http::router;
use crate::http_metrics::HttpMetrics;
use crate::jobs::Jobs;
use crate::lifecycle;
use crate::node::Node;
use crate::notifications::{Notifications, Webhook};
use crate::objects::Objects;
use crate::tls::Tls;

/// Why a node is not served any more.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system gives no threads, or the listener fails.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A machine of the node has panicked, which no later request can make good.
    #[error("a machine of this node has panicked: it cannot go on, and has to be started anew")]
    Panicked,
}

/// Buckets and objects of a node, served by another protocol beside its own one.
pub struct Gateway {
    /// Where it listens.
    pub listener: std::net::TcpListener,
    /// What answers, once the node runs. It is called where tasks can be spawned.
    pub router: Box<dyn FnOnce(Objects, Access) -> Router + Send>,
    /// What is answered without it.
    pub courtesy: Courtesy,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("listener", &self.listener).finish_non_exhaustive()
    }
}

/// What a node serves, where, and to whom.
#[derive(Debug)]
pub struct Front {
    /// Where native HTTP listens.
    pub listener: std::net::TcpListener,
    /// What is served beside it.
    pub gateways: Vec<Gateway>,
    /// Who may do what.
    pub access: AccessConfig,
    /// With what connections are encrypted, all of them, if they are.
    pub tls: Option<Arc<Tls>>,
    /// Where it is written down who changes what, if anywhere.
    pub audit: Option<Audit>,
    /// Commands of jobs that it carries out at a time; none if 0.
    pub transforms: u32,
    /// Who can be told what happens to objects.
    pub webhooks: Vec<Webhook>,
}

impl Front {
    /// Native HTTP alone, for everybody who reaches it.
    pub fn open(listener: std::net::TcpListener) -> Front {
        Front {
            listener,
            gateways: Vec::new(),
            access: AccessConfig::open(),
            tls: None,
            audit: None,
            transforms: 0,
            webhooks: Vec::new(),
        }
    }
}

/// How long the process goes on after it was told to stop: requests, and after them what disks are at.
const STOP_TIME: Duration = Duration::from_secs(9);

/// Listens for SIGINT and SIGTERM: the first one stops the node, a second one or the end of [`STOP_TIME`] the
/// process, whatever is under way. What was acknowledged is on stable storage by then. It has a thread of its own,
/// since it must be heard when all others hang.
fn signals() -> io::Result<oneshot::Receiver<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut terminate, mut interrupt) = {
        let _inside = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    let (stop, stopped) = oneshot::channel();
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => ("SIGTERM", 143),
            _ = interrupt.recv() => ("SIGINT", 130),
        }
    };
    let listen = async move {
        let (signal, _) = next().await;
        tracing::info!(signal, "stopping: what is under way is ended first");
        // It is there as long as the node is served.
        let _ = stop.send(());
        match tokio::time::timeout(STOP_TIME, next()).await {
            Ok((signal, status)) => {
                eprintln!("stopped at once by a second signal ({signal})");
                std::process::exit(status);
            }
            Err(_) => {
                eprintln!("stopped although disks were still at work");
                std::process::exit(0);
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(listen))?;
    Ok(stopped)
}

/// Serves native HTTP, and at the gateways, until the process is told to stop (SIGINT or SIGTERM), and then ends what is
/// under way, for some seconds at most. A node of a cluster reads its map again on SIGHUP. `ready` is called when requests are
/// taken.
///
/// # Errors
/// If the system gives no threads, the listener fails, or a machine of the node panics. Whoever started the process
/// starts it again then: what was acknowledged is there.
pub fn serve(node: Node, front: Front, ready: impl FnOnce()) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let stop = signals()?;
    let served = runtime.block_on(async {
        let node = Arc::new(node);
        if node.map_source().is_some() {
            let mut again = signal(SignalKind::hangup())?;
            let node = Arc::downgrade(&node);
            tokio::spawn(async move {
                while again.recv().await.is_some() {
                    let Some(node) = node.upgrade() else { return };
                    let _ = tokio::task::spawn_blocking(move || node.read_map_again()).await;
                }
            });
        }
        serve_until(node, front, async { drop(stop.await) }, ready).await
    });
    // What reads the map may wait for etcd, and what has panicked for ever.
    runtime.shutdown_background();
    served
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

fn asynchronous(listener: std::net::TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

async fn serve_until(
    node: Arc<Node>,
    front: Front,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let (serving, failed, names) = (node.serving(), node.failed(), node.host_names());
    let (metrics, feed) = (HttpMetrics::new(), Feed::new(&node));
    let Front { listener, gateways, access, tls, audit, transforms, webhooks } = front;
    if let Some(tls) = &tls {
        tokio::spawn(Tls::follow(Arc::downgrade(tls)));
    }
    node.seals_with(access.master_key.clone());
    let access = Access::new(node.clone(), access);
    let telling = Notifications::start(&node, webhooks).await;
    let objects = Objects::new(node.clone());
    let lifecycle = tokio::spawn(lifecycle::follow(node, serving.lifecycle_day));
    let (jobs, working) = Jobs::start(&objects, transforms);
    let own = (metrics.clone(), feed.clone(), jobs.clone());
    let native = router(&objects, &access, own, names);
    let mut doors = vec![Door::new(asynchronous(listener)?, native, NATIVE).with_tls(tls.clone())];
    for Gateway { listener, router, courtesy } in gateways {
        let router = router(objects.clone(), access.clone());
        doors.push(Door::new(asynchronous(listener)?, router, courtesy).with_tls(tls.clone()));
    }
    drop(objects);
    ready();
    let stop = async move {
        stop.await;
        feed.stop();
    };
    let served = tokio::select! {
        served = connections::serve(doors, (serving, metrics, audit), stop) => Ok(served?),
        () = failed => {
            lifecycle.abort();
            return Err(ServeError::Panicked);
        }
    };
    jobs.stop();
    // What it was at is gone on with elsewhere, or after the next start.
    let _ = working.await;
    access.stop().await;
    telling.stop().await;
    lifecycle.abort();
    // It lets the node go.
    let _ = lifecycle.await;
    served
}

/// A node that serves HTTP until this is dropped.
#[derive(Debug)]
pub struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Background {
    /// Begins to serve everybody who reaches it; requests are taken from now on.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn serve(node: Node, listener: std::net::TcpListener) -> io::Result<Background> {
        let runtime = runtime()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            let stop = async { drop(stopped.await) };
            runtime.block_on(serve_until(Arc::new(node), Front::open(listener), stop, || {}))
        };
        let thread = thread::Builder::new().name("http".into()).spawn(serve)?;
        Ok(Background { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Background {
    /// Ends what is under way, and stops the node.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use bytes::Bytes;
    use slotcast_protocol::Claim;
    use slotcast_store::Content;

    use super::*;
    use crate::node::NodeConfig;
    use crate::reactor::Event;

    #[test]
    fn a_machine_that_panics_ends_what_is_served() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = NodeConfig { register: None, ..NodeConfig::of_three(folder.path()) };
        let node = Node::start(&config).expect("it starts");
        let mailbox = node.mailbox.clone();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (ready, is_ready) = std::sync::mpsc::channel();
        let served = thread::spawn(move || {
            serve(node, Front::open(listener), || ready.send(()).expect("it is waited for"))
        });
        is_ready.recv().expect("it is served");
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n").expect("it is read");
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).expect("an answer");
        assert_eq!(&begin, b"HTTP/1.1 200");
        // No cluster has so many, and `Node::put_on` refuses it.
        let (reply, answer) = oneshot::channel();
        mailbox.put(Event::Put(
            Content::of(Bytes::from_static(b"y")),
            (Some(200), Claim::Bare),
            reply,
        ));
        assert!(answer.blocking_recv().is_err());
        let served = served.join().expect("it ends");
        assert!(matches!(served, Err(ServeError::Panicked)), "{served:?}");
        // Nobody is kept waiting.
        let _ = stream.read_to_end(&mut Vec::new());
        assert!(TcpStream::connect(address).is_err());
    }
}
