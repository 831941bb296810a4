//! The few requests of etcd that a cluster map needs, over its JSON gateway (`/v3/…`, etcd 3.4 and later).
//!
//! No client library: those that there are bring gRPC, and want a compiler of its descriptions to be built.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::etcd_address::EtcdAddress;
use super::etcd_session::{Session, begin, post};

/// A value, and the revision of etcd at which it was written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The value.
    pub text: String,
    /// Its `mod_revision`.
    pub revision: u64,
}

/// No member of etcd answers as it should: what the last one that was tried says.
#[derive(Debug, Clone, thiserror::Error)]
#[error("etcd at {endpoint}: {problem}")]
pub struct EtcdError {
    endpoint: String,
    problem: String,
}

/// How long a member may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// A client of one key.
#[derive(Debug)]
pub struct Etcd {
    session: Session,
    address: EtcdAddress,
    /// The member that has answered last.
    favourite: AtomicUsize,
}

impl Etcd {
    /// A client; nothing is sent yet.
    pub fn new(address: EtcdAddress) -> Etcd {
        let session = Session::new(address.tls.clone());
        Etcd { session, address, favourite: AtomicUsize::new(0) }
    }

    /// The value as a majority of etcd's members knows it, if there is one.
    ///
    /// # Errors
    /// If no member answers.
    pub fn get(&self) -> Result<Option<Stored>, EtcdError> {
        let answer = self.ask("kv/range", &json!({ "key": self.key() }))?;
        let Some(found) = answer["kvs"].get(0) else { return Ok(None) };
        let text = found["value"].as_str().unwrap_or_default();
        let text =
            BASE64.decode(text.as_bytes()).ok().and_then(|text| String::from_utf8(text).ok());
        match (text, number(&found["mod_revision"])) {
            (Some(text), Some(revision)) => Ok(Some(Stored { text, revision })),
            _ => Err(self.error("its answer makes no sense".into())),
        }
    }

    /// Writes the value if the one that is there was written at `revision`, or if none is there; says
    /// whether it did.
    ///
    /// # Errors
    /// If no member answers. The value may have been written all the same.
    pub fn replace(&self, revision: Option<u64>, text: &str) -> Result<bool, EtcdError> {
        let key = self.key();
        let compare = match revision {
            Some(revision) => {
                json!({ "target": "MOD", "key": key, "mod_revision": revision.to_string() })
            }
            None => json!({ "target": "CREATE", "key": key, "create_revision": "0" }),
        };
        let put = json!({ "request_put": { "key": key, "value": BASE64.encode(text.as_bytes()) } });
        let answer = self.ask("kv/txn", &json!({ "compare": [compare], "success": [put] }))?;
        // What is false is left out.
        Ok(answer["succeeded"] == true)
    }

    /// Waits until the value is written after `revision`, but not longer than `patience`.
    ///
    /// # Errors
    /// If the member that has answered last does not.
    pub fn wait(&self, revision: u64, patience: Duration) -> Result<(), EtcdError> {
        let start = (revision + 1).to_string();
        let create = json!({ "create_request": { "key": self.key(), "start_revision": start } });
        let failed = |error: &dyn std::fmt::Display| self.error(error.to_string());
        let origin = self.origin(self.favourite.load(Ordering::Relaxed));
        let agent = self.session.agent().map_err(|error| failed(&error))?;
        let token = self.session.token(&origin, ANSWER).map_err(|error| failed(&error))?;
        let request = begin(&agent, &format!("{origin}/v3/watch"), token.as_deref());
        let request = request.config().timeout_recv_body(Some(patience)).build();
        let answer = request.send(create.to_string()).map_err(|error| failed(&error))?;
        let mut reader = answer.into_body().into_reader();
        let (mut told, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            match reader.read(&mut bytes) {
                // Whatever it is, the value is read next.
                Ok(0) => return Ok(()),
                Ok(n) => told.extend_from_slice(&bytes[..n]),
                Err(error) if is_timeout(&error) => return Ok(()),
                Err(error) => return Err(failed(&error)),
            }
            // One object a line; the first says that the watch has begun.
            if told.windows(9).any(|part| part == b"\"events\":") || told.len() > 1 << 20 {
                return Ok(());
            }
        }
    }

    fn key(&self) -> String {
        BASE64.encode(self.address.key.as_bytes())
    }

    fn origin(&self, endpoint: usize) -> String {
        format!("{}{}", self.session.scheme(), self.address.endpoints[endpoint])
    }

    fn error(&self, problem: String) -> EtcdError {
        let endpoint = self.address.endpoints[self.favourite.load(Ordering::Relaxed)].clone();
        EtcdError { endpoint, problem }
    }

    /// Asks one member after another until one answers.
    fn ask(&self, what: &str, question: &Value) -> Result<Value, EtcdError> {
        let count = self.address.endpoints.len();
        let first = self.favourite.load(Ordering::Relaxed);
        let mut problem = None;
        for endpoint in (first..first + count).map(|n| n % count) {
            self.favourite.store(endpoint, Ordering::Relaxed);
            match self.ask_one(&self.origin(endpoint), what, question) {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    problem = Some(self.error(error));
                    self.session.forget();
                }
            }
        }
        Err(problem.unwrap_or_else(|| self.error("there is no member to ask".into())))
    }

    fn ask_one(&self, origin: &str, what: &str, question: &Value) -> Result<Value, String> {
        let url = format!("{origin}/v3/{what}");
        let ask = || {
            let token = self.session.token(origin, ANSWER)?;
            post(&self.session.agent()?, &url, question, (token.as_deref(), ANSWER))
        };
        let mut answer = ask()?;
        if self.session.is_forgotten(&answer) {
            self.session.forget();
            answer = ask()?;
        }
        let (status, text) = answer;
        if !status.is_success() {
            return Err(format!("{status}: {}", text.trim()));
        }
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }
}

/// Numbers of 64 bits are written as text.
fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock)
        || matches!(
            error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()),
            Some(ureq::Error::Timeout(_))
        )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn where_nobody_listens_is_said() {
        let address = EtcdAddress::parse("etcd://127.0.0.1:1,127.0.0.1:2/a", Path::new(""));
        let address = address.expect("an address");
        let error = Etcd::new(address).get().expect_err("nobody listens");
        assert!(error.to_string().starts_with("etcd at 127.0.0.1:2: "), "{error}");
    }
}
