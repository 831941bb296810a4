//! The audit log: a line for each request that changes something, or was refused.
//!
//! A request is answered when its line is on its way to the file; where the file does not keep up, requests wait. A line
//! that cannot be written is told in the log of the node.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;

use axum::http::{HeaderValue, Method, Request, Response};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::access::Peer;
use crate::journal::Throttle;
use crate::objects::{new_key, now_ms};

/// Lines that wait to be written; further requests wait for them.
const WAITING: usize = 1024;

/// The mode of the file: what people do with their data is nobody else's concern.
const MODE: u32 = 0o600;

/// What is known of a request: who wants what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audited {
    /// The name of the user; `root`, `anonymous`.
    pub user: String,
    /// The operation, as its protocol calls it.
    pub operation: String,
    /// What it is done with.
    pub resource: String,
}

/// Where whoever answers a request says what is known of it. It is among the extensions of each request.
#[derive(Debug, Clone, Default)]
pub struct AuditSlot(Arc<OnceLock<Audited>>);

impl AuditSlot {
    /// It is this. What was said first holds.
    pub fn say(&self, audited: Audited) {
        let _ = self.0.set(audited);
    }
}

/// A line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// Milliseconds since 1970.
    time: u64,
    user: &'a str,
    source: SocketAddr,
    protocol: &'a str,
    operation: &'a str,
    resource: &'a str,
    status: u16,
    request_id: &'a str,
}

/// A request that is to be answered.
pub(crate) struct Begun {
    audit: Audit,
    slot: AuditSlot,
    method: Method,
    path: String,
}

/// The audit log. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct Audit {
    lines: mpsc::Sender<Vec<u8>>,
}

impl Audit {
    /// Writes to the end of the file at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be opened, others can read it, or the system gives no thread.
    pub fn open(path: &Path) -> io::Result<Audit> {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(MODE).open(path)?;
        let mode = file.metadata()?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let message = format!("others can read it (mode {mode:03o}): run `chmod 600` on it");
            return Err(io::Error::other(message));
        }
        let (lines, mut written) = mpsc::channel::<Vec<u8>>(WAITING);
        let path = path.to_owned();
        let write = move || {
            let mut told = Throttle::new();
            while let Some(line) = written.blocking_recv() {
                // One call for each: lines of several nodes in one file stay whole.
                if let Err(error) = file.write_all(&line)
                    && let Some(left_out) = told.admit()
                {
                    let file = path.display();
                    tracing::error!(%file, %error, left_out, "audit log not written");
                }
            }
        };
        thread::Builder::new().name("audit".into()).spawn(write)?;
        Ok(Audit { lines })
    }

    /// A request has come. Whoever answers it says the rest in its [`AuditSlot`].
    pub(crate) fn begin<B>(&self, request: &mut Request<B>) -> Begun {
        let slot = AuditSlot::default();
        request.extensions_mut().insert(slot.clone());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Begun { audit: self.clone(), slot, method, path }
    }
}

impl Begun {
    /// It was answered: writes its line, if it has one. It has a number, by which client and log can be brought together.
    pub(crate) async fn end<B>(
        self,
        (peer, protocol): (Peer, &'static str),
        response: &mut Response<B>,
    ) {
        let status = response.status().as_u16();
        let reads = matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if reads && !matches!(status, 401 | 403) {
            return;
        }
        let known = response.headers().get("x-amz-request-id").and_then(|id| id.to_str().ok());
        let request_id = match known {
            Some(id) => id.to_owned(),
            None => {
                let id = format!("{:016X}", new_key().map_or(0, |key| key.0 >> 64));
                if let Ok(value) = HeaderValue::try_from(&id) {
                    response.headers_mut().insert("x-request-id", value);
                }
                id
            }
        };
        let unknown = || Audited {
            user: "unknown".into(),
            operation: self.method.to_string(),
            resource: self.path.clone(),
        };
        let Audited { user, operation, resource } =
            self.slot.0.get().cloned().unwrap_or_else(unknown);
        let line = Line {
            time: now_ms(),
            user: &user,
            source: peer.address,
            protocol,
            operation: &operation,
            resource: &resource,
            status,
            request_id: &request_id,
        };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        // It goes on as long as anybody can send.
        let _ = self.audit.lines.send(line).await;
    }
}
