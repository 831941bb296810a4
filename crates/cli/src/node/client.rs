//! Speaks with a node.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slotcast_lab::InputError;
use slotcast_node::http::ObjectDescription;
use ureq::http::Response;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Body};

pub(crate) use super::connect::{DEFAULT_NODE, NodeOption};
use super::hearing::Hearing;
use super::place::{ObjectPlace, encoded};
use crate::failure::Failure;

/// A key of a request that is the same in each retry: whoever lost an answer is told what came of it.
pub(crate) fn new_key() -> Result<String, Box<InputError>> {
    let mut key = [0; 16];
    let failed = |error| InputError::plain(format!("no random numbers: {error}"));
    getrandom::fill(&mut key).map_err(failed)?;
    Ok(format!("{:032x}", u128::from_be_bytes(key)))
}

/// A connection to a node.
pub(crate) struct Client {
    agent: Agent,
    node: String,
    origin: String,
    is_cut: Arc<AtomicBool>,
}

impl Client {
    /// # Errors
    /// If the keys or the certificates that it is to use cannot be read.
    pub(crate) fn new(option: &NodeOption) -> Result<Client, Failure> {
        let is_cut = Arc::new(AtomicBool::new(false));
        let connector = DefaultConnector::new().chain(Hearing(is_cut.clone()));
        let agent = Agent::with_parts(option.config()?, connector, DefaultResolver::default());
        Ok(Client { agent, node: option.name().to_owned(), origin: option.place().origin, is_cut })
    }

    /// True once the node takes in no more of what is sent: it has answered, or gone.
    pub(crate) fn is_cut(&self) -> &AtomicBool {
        &self.is_cut
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The answer to a get of `path`, if it went well.
    pub(crate) fn get(&self, path: &str) -> Result<Response<Body>, Box<InputError>> {
        self.checked(self.agent.get(self.url(path)).call())
    }

    /// What comes of a change that is said in JSON.
    pub(crate) fn patch<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        change: &serde_json::Value,
        version: Option<&str>,
    ) -> Result<T, Box<InputError>> {
        let mut request = self.agent.patch(self.url(path));
        if let Some(version) = version {
            request = request.header("if-match", format!("\"{version}\""));
        }
        let answer = self.checked(request.send(change.to_string()))?;
        self.read_json(answer)
    }

    /// All that is known of an object but its content; none if there is no such object.
    pub(crate) fn described(
        &self,
        place: &ObjectPlace,
        version: Option<&str>,
    ) -> Result<Option<ObjectDescription>, Box<InputError>> {
        let version = version.map(|version| format!("&version={}", encoded(version)));
        let path = format!("{}?describe=true{}", place.path(), version.unwrap_or_default());
        match self.agent.get(self.url(&path)).call() {
            Ok(answer) if answer.status() == 404 => Ok(None),
            answer => self.checked(answer).and_then(|answer| self.read_json(answer)).map(Some),
        }
    }

    /// What an answer says in JSON.
    pub(crate) fn read_json<T: serde::de::DeserializeOwned>(
        &self,
        mut answer: Response<Body>,
    ) -> Result<T, Box<InputError>> {
        let text = answer.body_mut().read_to_string();
        text.map_err(|error| error.to_string())
            .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
            .map_err(|error| InputError::plain(format!("{}: {error}", self.node)))
    }

    /// The answer, if it went well; otherwise what the node or the network says.
    pub(crate) fn checked(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, Box<InputError>> {
        let mut answer = answer.map_err(|error| {
            let help = "is it running? `slotcast serve` starts one, --node names another";
            InputError::plain(format!("cannot speak with {}: {error}", self.node))
                .with_help(Some(help.into()))
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let text = answer.body_mut().read_to_string().unwrap_or_default();
        let message = serde_json::from_str::<serde_json::Value>(&text)
            .ok()
            .and_then(|json| json["error"].as_str().map(str::to_owned))
            .unwrap_or(text);
        Err(InputError::plain(format!("{}: {message} ({})", self.node, answer.status())))
    }

    /// The answer to a get of `path`, from its JSON.
    pub(crate) fn get_json<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, Box<InputError>> {
        self.read_json(self.get(path)?)
    }
}
