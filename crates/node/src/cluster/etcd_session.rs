//! How one speaks with members of etcd: over which connections, believing whom, and as which user.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::StatusCode;
use ureq::tls::{
    Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem,
};
use ureq::typestate::WithBody;
use ureq::{Agent, RequestBuilder};

use super::etcd_address::EtcdTls;
use crate::access::secret_file::{self, SecretFileError};

/// How long a member may take to be reached.
const CONNECT: Duration = Duration::from_secs(2);

/// Where Debian and others keep the certificates that everybody believes.
pub(crate) const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// An agent, and what etcd knows its user by; made when they are needed, and anew after a failure, so that new
/// certificates and passwords are taken.
#[derive(Debug)]
pub(super) struct Session {
    tls: Option<EtcdTls>,
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
struct Current {
    agent: Option<Agent>,
    token: Option<String>,
}

impl Session {
    pub(super) fn new(tls: Option<EtcdTls>) -> Session {
        Session { tls, current: Mutex::default() }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `http://` or `https://`.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https://" } else { "http://" }
    }

    /// The files are read again for whatever comes next.
    pub(super) fn forget(&self) {
        *self.current() = Current::default();
    }

    /// An agent.
    pub(super) fn agent(&self) -> Result<Agent, String> {
        if let Some(agent) = &self.current().agent {
            return Ok(agent.clone());
        }
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_connect(Some(CONNECT));
        let agent: Agent = match &self.tls {
            None => config.build().into(),
            Some(tls) => config.tls_config(tls_config(tls)?).build().into(),
        };
        self.current().agent = Some(agent.clone());
        Ok(agent)
    }

    /// What the member whose addresses begin so is to know the user by; none without a user.
    pub(super) fn token(&self, origin: &str, patience: Duration) -> Result<Option<String>, String> {
        let Some((user, file)) = self.tls.as_ref().and_then(|tls| tls.user.as_ref()) else {
            return Ok(None);
        };
        if let Some(token) = self.current().token.clone() {
            return Ok(Some(token));
        }
        let password = secret(file)?;
        let question = json!({ "name": user, "password": password.trim_end_matches(['\r', '\n']) });
        let url = format!("{origin}/v3/auth/authenticate");
        let (status, text) = post(&self.agent()?, &url, &question, (None, patience))?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        match answer["token"].as_str() {
            Some(token) if status.is_success() => {
                self.current().token = Some(token.to_owned());
                Ok(Some(token.to_owned()))
            }
            _ => Err(format!("user `{user}`: {status}: {}", text.trim())),
        }
    }

    /// Whether an answer says that the token counts no more: etcd has started anew, or its users have changed.
    pub(super) fn is_forgotten(&self, (status, text): &(StatusCode, String)) -> bool {
        let has_user = self.tls.as_ref().is_some_and(|tls| tls.user.is_some());
        let is_old = *status == StatusCode::UNAUTHORIZED || text.contains("auth store is old");
        has_user && is_old
    }
}

/// A request as whom etcd knows by this token.
pub(super) fn begin(agent: &Agent, url: &str, token: Option<&str>) -> RequestBuilder<WithBody> {
    let request = agent.post(url);
    match token {
        Some(token) => request.header("Authorization", token),
        None => request,
    }
}

/// What `url` answers to a question.
pub(super) fn post(
    agent: &Agent,
    url: &str,
    question: &Value,
    (token, patience): (Option<&str>, Duration),
) -> Result<(StatusCode, String), String> {
    let request = begin(agent, url, token).config().timeout_global(Some(patience)).build();
    let mut answer = request.send(question.to_string()).map_err(|error| error.to_string())?;
    let text = answer.body_mut().read_to_string().map_err(|error| error.to_string())?;
    Ok((answer.status(), text))
}

fn tls_config(tls: &EtcdTls) -> Result<TlsConfig, String> {
    let roots = certificates(tls.ca.as_deref().unwrap_or(Path::new(SYSTEM_CERTIFICATES)))?;
    let identity = match &tls.identity {
        None => None,
        Some((certificate, key)) => {
            let text = secret(key)?;
            let wrong = |error| format!("`{}` has no private key in PEM: {error}", key.display());
            let private = PrivateKey::from_pem(text.as_bytes()).map_err(wrong)?;
            Some(ClientCert::new_with_certs(&certificates(certificate)?, private))
        }
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&roots))
        .client_cert(identity)
        .build())
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let name = path.display();
    let text = std::fs::read(path).map_err(|error| format!("`{name}`: {error}"))?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) =
            item.map_err(|error| format!("`{name}`: {error}"))?
        {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(format!("`{name}` has no certificate in PEM")),
        false => Ok(found),
    }
}

/// A file that only its owner can read.
fn secret(path: &Path) -> Result<zeroize::Zeroizing<String>, String> {
    let name = path.display();
    secret_file::read(path).map_err(|error| match error {
        SecretFileError::Open(mode) => {
            format!("others can read `{name}` (mode {mode:03o}): run `chmod 600 {name}`")
        }
        SecretFileError::Io(error) => format!("`{name}`: {error}"),
    })
}
