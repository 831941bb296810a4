//! Requests to any node of a cluster that answers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use ureq::Agent;
use ureq::http::{Method, Request};

use super::trouble::Trouble;

/// How long an answer may take before another node is asked.
const ANSWER: Duration = Duration::from_secs(10);

/// How long to wait before all nodes are asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// What is asked.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    method: Method,
    path: String,
    body: Vec<u8>,
    /// The same for whoever asks again: what is asked is done once.
    key: Option<String>,
}

impl Ask {
    pub(super) fn get(path: impl Into<String>) -> Ask {
        Ask { method: Method::GET, path: path.into(), body: Vec::new(), key: None }
    }

    pub(super) fn put(path: impl Into<String>, body: Vec<u8>) -> Ask {
        Ask { method: Method::PUT, path: path.into(), body, key: None }
    }

    pub(super) fn post(path: impl Into<String>, body: Vec<u8>) -> Ask {
        Ask { method: Method::POST, path: path.into(), body, key: None }
    }

    pub(super) fn delete(path: impl Into<String>) -> Ask {
        Ask { method: Method::DELETE, path: path.into(), body: Vec::new(), key: None }
    }

    /// The same with a key of 128 bits.
    pub(super) fn with_key(self, key: u128) -> Ask {
        Ask { key: Some(format!("{key:032x}")), ..self }
    }
}

/// What a node says.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// What it says in JSON, if it went well; otherwise why not.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, String> {
        match self.status {
            200..300 => serde_json::from_slice(&self.body).map_err(|error| error.to_string()),
            _ => Err(self.said()),
        }
    }

    /// Its text and status.
    pub(super) fn said(&self) -> String {
        format!("{} ({})", String::from_utf8_lossy(&self.body).trim(), self.status)
    }
}

/// Asks the nodes of a cluster, one after another. May be used by any thread.
#[derive(Debug)]
pub(super) struct Asker {
    agent: Agent,
    /// Where they serve HTTP.
    nodes: RwLock<Vec<u16>>,
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Asker {
    /// Ends with an error once `stop` is true.
    pub(super) fn new(stop: Arc<AtomicBool>) -> Asker {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER))
            .max_idle_connections_per_host(64)
            .max_idle_connections(512);
        let agent = Agent::new_with_config(config.build());
        Asker { agent, nodes: RwLock::default(), next: AtomicUsize::new(0), stop }
    }

    /// From now on the nodes at these ports are asked.
    pub(super) fn set_nodes(&self, ports: Vec<u16>) {
        *self.nodes.write().unwrap_or_else(PoisonError::into_inner) = ports;
    }

    /// Whether somebody has pressed Ctrl-C.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks one node, once.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) fn once(&self, port: u16, ask: &Ask) -> Result<Answer, String> {
        let Ask { method, path, body, key } = ask;
        let mut request =
            Request::builder().method(method.clone()).uri(format!("http://127.0.0.1:{port}{path}"));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let answer = match body.is_empty() && *method != Method::PUT {
            true => request.body(()).map(|request| self.agent.run(request)),
            false => request.body(&body[..]).map(|request| self.agent.run(request)),
        };
        let answer = answer.map_err(|error| error.to_string())?;
        let mut answer = answer.map_err(|error| format!("port {port}: {error}"))?;
        let body = answer.body_mut().with_config().limit(u64::MAX).read_to_vec();
        let body = body.map_err(|error| format!("port {port}: {error}"))?;
        Ok(Answer { status: answer.status().as_u16(), body })
    }

    /// Asks the next node, once.
    ///
    /// # Errors
    /// Why there is no answer, or that the node cannot tell at present.
    pub(super) fn next(&self, ask: &Ask) -> Result<Answer, String> {
        let nodes = self.nodes.read().unwrap_or_else(PoisonError::into_inner).clone();
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let port = *nodes.get(turn % nodes.len().max(1)).ok_or("there are no nodes")?;
        match self.once(port, ask)? {
            answer if answer.status >= 500 || answer.status == 429 => {
                Err(format!("port {port}: {}", answer.said()))
            }
            answer => Ok(answer),
        }
    }

    /// Asks node after node until one says yes or no.
    ///
    /// # Errors
    /// If none has for as long as `patience`, or the drill is stopped.
    pub(super) fn settled(&self, ask: &Ask, patience: Duration) -> Result<Answer, Trouble> {
        let since = Instant::now();
        loop {
            if self.is_stopped() {
                return Err(Trouble::Interrupted);
            }
            match self.next(ask) {
                Ok(answer) => return Ok(answer),
                Err(error) if since.elapsed() > patience => {
                    let Ask { method, path, .. } = ask;
                    return Err(Trouble::Stuck(format!("{method} {path}: {error}")));
                }
                Err(_) => sleep(PAUSE),
            }
        }
    }
}
