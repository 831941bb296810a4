use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;

use axum::Router;
use axum::routing::{get, put};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::*;
use crate::door::NATIVE;
use crate::limits::Limits;

/// A limit within the tests' patience that no test comes near.
const LONG: Duration = Duration::from_secs(60);

struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Server {
    fn start(connections: usize, idle_timeout: Duration) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.expect("threads");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new()
            .route("/v1/status", get(async || "fine"))
            .route("/v1/content", put(async |body: Bytes| body.len().to_string()));
        let serving = Serving { idle_timeout, ..Limits::default().serving(connections) };
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let served = (serving, HttpMetrics::new(), None);
        let run = move || {
            runtime.block_on(serve(vec![Door::new(listener, router, NATIVE)], served, stopped))
        };
        Server { address, stop: Some(stop), thread: Some(std::thread::spawn(run)) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a time");
        stream
    }

    /// The whole answer to a request on a connection of its own.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        write!(stream, "{request}").expect("it is read");
        rest(&mut stream)
    }

    /// The same, where the connection may be closed at any time.
    fn try_ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        let mut answer = String::new();
        let asked = write!(stream, "{request}").and_then(|()| stream.read_to_string(&mut answer));
        asked.map_or(String::new(), |_| answer)
    }

    fn stop(mut self) {
        drop(self.stop.take());
        self.thread.take().expect("it runs").join().expect("no panic").expect("it stops");
    }
}

/// What still comes, until the other end closes. It may do that although it has not read everything.
fn rest(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    match stream.read_to_string(&mut text) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{text}: {error}"),
        _ => text,
    }
}

/// Tries until it holds, for a minute at most.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < LONG {
        if holds() {
            return true;
        }
    }
    false
}

const STATUS: &str = "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const PUT: &str =
    "PUT /v1/content HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n";

/// A put whose content does not come, and which the server knows to be under way.
fn unfinished_put(server: &Server) -> TcpStream {
    let mut stream = server.connect();
    let asking = PUT.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    write!(stream, "{asking}").expect("it is read");
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).expect("content is asked for");
    assert_eq!(answer, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

/// Connections are idle for longer than what is on its way could be.
fn wait_for_grace() {
    std::thread::sleep(GRACE * 2);
}

#[test]
fn idle_connections_make_room() {
    let server = Server::start(4, LONG);
    let mut idle: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    for stream in idle.iter_mut().skip(50) {
        // It may be closed already.
        let _ = write!(stream, "GET /v1/st");
    }
    assert!(server.ask(STATUS).ends_with("fine"));
    assert!(server.ask(&format!("{PUT}12345")).ends_with("\r\n5"));
    assert_eq!(rest(&mut idle[0]), "", "it is closed");
    // Some are left, and those that have come last.
    wait_for_grace();
    let mut last = idle.pop().expect("it is there");
    write!(last, "{}", STATUS.strip_prefix("GET /v1/st").expect("so it begins")).expect("open");
    assert!(rest(&mut last).ends_with("fine"));
    server.stop();
}

/// Each has a request again and again, and so is never idle for long; others come in all the same.
#[test]
fn connections_in_use_make_room_at_last() {
    let server = Server::start(4, LONG);
    let ask = STATUS.replace("Connection: close\r\n", "");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 + SPARE {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut stream = server.connect();
                    // So that it notices the end although nobody takes it in.
                    stream.set_read_timeout(Some(GRACE)).expect("a time");
                    let mut answer = [0; 4096];
                    while !is_over.load(Ordering::Relaxed) {
                        let is_asked = write!(stream, "{ask}").is_ok();
                        if !is_asked || !stream.read(&mut answer).is_ok_and(|length| length > 0) {
                            break;
                        }
                    }
                }
            });
        }
        // A connection may be closed in the moment in which its request is on the way.
        let comes_in = || eventually(|| server.try_ask(STATUS).ends_with("fine"));
        let come_in = (0..3).all(|_| comes_in());
        is_over.store(true, Ordering::Relaxed);
        assert!(come_in);
    });
    server.stop();
}

#[test]
fn where_all_are_busy_the_state_of_the_node_can_be_asked() {
    let server = Server::start(4, LONG);
    let mut puts: Vec<TcpStream> = (0..4).map(|_| unfinished_put(&server)).collect();
    // They are known to be under way when a further one is refused.
    let mut refused = String::new();
    assert!(eventually(|| {
        refused = server.try_ask(&format!("{PUT}12345"));
        refused.starts_with("HTTP/1.1 503")
    }));
    let head = refused.to_lowercase();
    assert!(head.contains("retry-after: 1\r\n") && head.contains("connection: close"), "{refused}");
    assert!(refused.contains("ask again later"), "{refused}");
    let idle: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    for _ in 0..100 {
        // One whose request does not come at once may be closed as idle.
        assert!(eventually(|| server.try_ask(STATUS).ends_with("fine")));
    }
    drop(idle);
    for put in &mut puts {
        write!(put, "12345").expect("it is read");
        assert!(rest(put).ends_with("\r\n5"));
    }
    // The place of a request is free when its answer was handed over, a moment before it arrives or after.
    assert!(eventually(|| server.try_ask(&format!("{PUT}12345")).ends_with("\r\n5")));
    server.stop();
}

#[test]
fn a_header_that_does_not_come_ends_the_connection() {
    let server = Server::start(4, Duration::from_secs(2));
    let mut silent = server.connect();
    let mut slow = server.connect();
    write!(slow, "GET /v1/status HTT").expect("it is read");
    let mut put = unfinished_put(&server);
    assert!(!rest(&mut silent).contains("200"));
    assert!(!rest(&mut slow).contains("200"));
    // Content may take its time.
    std::thread::sleep(Duration::from_secs(3));
    write!(put, "12345").expect("it is read");
    assert!(rest(&mut put).ends_with("\r\n5"));
    server.stop();
}

#[test]
fn a_stop_ends_what_is_under_way_and_waits_for_nobody_else() {
    let server = Server::start(4, LONG * 10);
    let mut silent = server.connect();
    let mut slow = server.connect();
    write!(slow, "GET /v1/status HTT").expect("it is read");
    let mut put = unfinished_put(&server);
    let stopped = std::thread::spawn(move || server.stop());
    assert_eq!(rest(&mut silent), "");
    assert_eq!(rest(&mut slow), "");
    write!(put, "12345").expect("it is read");
    assert!(rest(&mut put).ends_with("\r\n5"));
    stopped.join().expect("it stops");
}
