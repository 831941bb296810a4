//! Webhooks: where messages go, by HTTP.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use zeroize::Zeroizing;

use crate::access::secret_file::{self, SecretFileError};
use crate::cluster::{SYSTEM_CERTIFICATES, certificates};

/// How long one may take to be reached, and to answer.
const CONNECT: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest name.
const MAX_NAME: usize = 64;

/// Where messages of some rules go.
pub struct Webhook {
    name: String,
    url: String,
    /// What is sent as `Authorization`.
    authorization: Option<Zeroizing<String>>,
    agent: Agent,
}

/// How a webhook is named and reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// What ARNs call it.
    pub name: String,
    /// Its address.
    pub url: String,
    /// A file with a token that it is to know the store by.
    pub token: Option<PathBuf>,
    /// Certificates of whom to believe who it is, where those of the system do not do.
    pub ca: Option<PathBuf>,
}

/// Why there is no such webhook.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// What it is called is no name.
    #[error("`{0}` is no name of a webhook: it has 1 to {MAX_NAME} letters, digits, - and _")]
    Name(String),
    /// Where it is said to be is no address.
    #[error(
        "the address of the webhook `{0}` begins with http:// or https://, and has no user in it"
    )]
    Address(String),
    /// Others can read the token.
    #[error("others can read the token in `{path}` (mode {1:03o}): run `chmod 600 {path}`", path = .0.display())]
    Open(PathBuf, u32),
    /// A file cannot be used.
    #[error("the webhook `{0}`: {1}")]
    File(String, String),
}

impl WebhookConfig {
    /// What `NAME=URL`, with `,token=FILE` and `,ca=FILE` after it, says.
    ///
    /// # Errors
    /// If it says something else.
    pub fn read(text: &str) -> Result<WebhookConfig, String> {
        let (name, rest) = text.split_once('=').ok_or("a webhook is given as NAME=URL")?;
        let mut parts = rest.split(',');
        let url = parts.next().unwrap_or("").to_owned();
        let mut config = WebhookConfig { name: name.to_owned(), url, token: None, ca: None };
        for part in parts {
            match part.split_once('=') {
                Some(("token", file)) => config.token = Some(file.into()),
                Some(("ca", file)) => config.ca = Some(file.into()),
                _ => {
                    return Err(
                        "after the address there can be `,token=FILE` and `,ca=FILE`".into()
                    );
                }
            }
        }
        Ok(config)
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("name", &self.name).finish_non_exhaustive()
    }
}

fn authorization(path: &Path, name: &str) -> Result<Zeroizing<String>, WebhookError> {
    let text = secret_file::read(path).map_err(|error| match error {
        SecretFileError::Open(mode) => WebhookError::Open(path.to_owned(), mode),
        SecretFileError::Io(error) => {
            WebhookError::File(name.to_owned(), format!("`{}`: {error}", path.display()))
        }
    })?;
    let token = text.trim();
    let is_sendable =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| (b' '..0x7f).contains(&byte));
    if !is_sendable(token) {
        let message = format!("`{}` has no token of one line", path.display());
        return Err(WebhookError::File(name.to_owned(), message));
    }
    // With its scheme, or without.
    Ok(Zeroizing::new(match token.contains(' ') {
        true => token.to_owned(),
        false => format!("Bearer {token}"),
    }))
}

impl Webhook {
    /// One that is configured so.
    ///
    /// # Errors
    /// If its name or its address cannot be, or a file cannot be used.
    pub fn new(config: &WebhookConfig) -> Result<Webhook, WebhookError> {
        let WebhookConfig { name, url, token, ca } = config;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name) {
            return Err(WebhookError::Name(name.clone()));
        }
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or("");
        if host.is_empty() || host.contains('@') || url.parse::<ureq::http::Uri>().is_err() {
            return Err(WebhookError::Address(name.clone()));
        }
        let authorization = token.as_deref().map(|path| authorization(path, name)).transpose()?;
        let builder = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(PATIENCE));
        let agent = match url.starts_with("https://") {
            false => builder.build(),
            true => {
                let roots = certificates(ca.as_deref().unwrap_or(Path::new(SYSTEM_CERTIFICATES)));
                let roots = roots.map_err(|error| WebhookError::File(name.clone(), error))?;
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let tls = TlsConfig::builder()
                    .provider(TlsProvider::Rustls)
                    .unversioned_rustls_crypto_provider(provider)
                    .root_certs(RootCerts::new_with_certs(&roots));
                builder.tls_config(tls.build()).build()
            }
        };
        let (name, url, agent) = (name.clone(), url.clone(), agent.into());
        Ok(Webhook { name, url, authorization, agent })
    }

    /// What ARNs call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a message, and waits until the webhook says that it has it. Errors never say where it is: addresses may have
    /// secrets in them.
    pub(super) fn send(&self, message: &str) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).content_type("application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", &authorization[..]);
        }
        let mut answer = request.send(message).map_err(|error| match error {
            ureq::Error::Io(error) => error.kind().to_string(),
            ureq::Error::Timeout(_) => "it does not answer in time".into(),
            ureq::Error::HostNotFound => "its host is not known".into(),
            ureq::Error::Tls(error) => error.into(),
            ureq::Error::Rustls(error) => error.to_string(),
            _ => "it cannot be reached".into(),
        })?;
        let status = answer.status();
        // What it says beside that is not read further than to use the connection again.
        let _ = answer.body_mut().with_config().limit(1 << 16).read_to_vec();
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("it answers {}", status.as_u16())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn webhooks_are_read_as_they_are_written() {
        let config = WebhookConfig::read("a=https://x.org/h?k=v,token=/t,ca=/c").expect("one");
        assert_eq!((&config.name[..], &config.url[..]), ("a", "https://x.org/h?k=v"));
        assert_eq!((config.token, config.ca), (Some("/t".into()), Some("/c".into())));
        assert!(WebhookConfig::read("a").is_err() && WebhookConfig::read("a=http://x,y").is_err());
        let fails = |text: &str| {
            let config = WebhookConfig::read(text).expect("one");
            Webhook::new(&config).expect_err("it cannot be used").to_string()
        };
        assert!(fails("a b=http://x/").contains("no name"));
        for url in ["x", "ftp://x/", "http://", "http://u:p@x/", "https://"] {
            let text = fails(&format!("a={url}"));
            assert!(text.contains("begins with") && !text.contains("u:p"), "{text}");
        }
    }

    #[test]
    fn a_token_that_others_can_read_is_refused_and_none_is_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, "much-secret\n").expect("room");
        let mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("ours");
        };
        let config = WebhookConfig {
            name: "a".into(),
            url: "http://x/other-secret".into(),
            token: Some(path.clone()),
            ca: None,
        };
        mode(0o644);
        assert!(matches!(Webhook::new(&config), Err(WebhookError::Open(_, 0o644))));
        mode(0o600);
        let webhook = Webhook::new(&config).expect("it can be used");
        assert_eq!(
            webhook.authorization.as_deref().map(|text| &text[..]),
            Some("Bearer much-secret")
        );
        assert!(!format!("{webhook:?}").contains("secret"));
    }
}
