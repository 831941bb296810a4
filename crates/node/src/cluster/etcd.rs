//! The few requests of etcd that a cluster map needs, over its JSON gateway (`/v3/…`, etcd 3.4 and later).
//!
//! No client library: those that there are bring gRPC, and want a compiler of its descriptions to be built.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};
use ureq::Agent;

/// Where in which etcd a value is: `etcd://ADDRESS:PORT,ADDRESS:PORT/KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdAddress {
    /// Its members, as `ADDRESS:PORT`.
    pub endpoints: Vec<String>,
    /// The key, with its leading slash.
    pub key: String,
}

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

/// How long a member may take to be reached, and to answer.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(5);

/// A client of one key.
#[derive(Debug)]
pub struct Etcd {
    agent: Agent,
    address: EtcdAddress,
    /// The member that has answered last.
    favourite: AtomicUsize,
}

impl EtcdAddress {
    /// Reads what follows `etcd://`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(rest: &str) -> Result<EtcdAddress, String> {
        let Some((endpoints, key)) = rest.split_once('/').filter(|(_, key)| !key.is_empty()) else {
            return Err("names no key".into());
        };
        let endpoints: Vec<String> = endpoints.split(',').map(str::to_owned).collect();
        for endpoint in &endpoints {
            let is_right = endpoint
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
            if !is_right {
                return Err(format!("`{endpoint}` is not an address and a port"));
            }
        }
        Ok(EtcdAddress { endpoints, key: format!("/{key}") })
    }
}

impl std::fmt::Display for EtcdAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "etcd://{}{}", self.endpoints.join(","), self.key)
    }
}

impl Etcd {
    /// A client; nothing is sent yet.
    pub fn new(address: EtcdAddress) -> Etcd {
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_connect(Some(CONNECT));
        Etcd { agent: config.build().into(), address, favourite: AtomicUsize::new(0) }
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
        let request = self.agent.post(self.url("watch", self.favourite.load(Ordering::Relaxed)));
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

    fn url(&self, what: &str, endpoint: usize) -> String {
        format!("http://{}/v3/{what}", self.address.endpoints[endpoint])
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
            match self.ask_one(&self.url(what, endpoint), question) {
                Ok(answer) => return Ok(answer),
                Err(error) => problem = Some(self.error(error)),
            }
        }
        Err(problem.unwrap_or_else(|| self.error("there is no member to ask".into())))
    }

    fn ask_one(&self, url: &str, question: &Value) -> Result<Value, String> {
        let request = self.agent.post(url).config().timeout_global(Some(ANSWER)).build();
        let mut answer = request.send(question.to_string()).map_err(|error| error.to_string())?;
        let text = answer.body_mut().read_to_string().map_err(|error| error.to_string())?;
        if !answer.status().is_success() {
            return Err(format!("{}: {}", answer.status(), text.trim()));
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
    use super::*;

    #[test]
    fn an_address_names_members_and_a_key() {
        let text = "10.0.0.9:2379,[::1]:2379/slotcast/main";
        let address = EtcdAddress::parse(text).expect("an address");
        assert_eq!(address.endpoints, ["10.0.0.9:2379", "[::1]:2379"]);
        assert_eq!(address.key, "/slotcast/main");
        assert_eq!(address.to_string(), format!("etcd://{text}"));
        for wrong in
            ["", "10.0.0.9:2379", "10.0.0.9:2379/", "10.0.0.9/a", ":1/a", "a:b/c", "a:1,/c"]
        {
            assert!(EtcdAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn where_nobody_listens_is_said() {
        let address = EtcdAddress::parse("127.0.0.1:1,127.0.0.1:2/a").expect("an address");
        let error = Etcd::new(address).get().expect_err("nobody listens");
        assert!(error.to_string().starts_with("etcd at 127.0.0.1:2: "), "{error}");
    }
}
