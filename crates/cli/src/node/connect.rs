//! How a command reaches a node: where, with which keys, and whose certificates it believes.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use data_encoding::BASE64;
use slotcast_lab::InputError;
use slotcast_node::access::Keys;
use ureq::config::Config;
use ureq::http::{HeaderValue, Request, header};
use ureq::middleware::MiddlewareNext;
use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, SendBody};

use super::s3_options::keys_of_environment;
use crate::failure::Failure;

/// Where `slotcast serve` listens unless told otherwise.
pub(crate) const DEFAULT_NODE: &str = "127.0.0.1:7480";

/// Where Debian and others keep the certificates that everybody believes.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Which node, and who asks it.
#[derive(Debug, Args)]
pub(crate) struct NodeOption {
    /// The node to speak with; https://ADDRESS:PORT where it speaks TLS
    #[arg(long, value_name = "ADDRESS:PORT", env = "SLOTCAST_NODE", default_value = DEFAULT_NODE)]
    node: String,

    /// A file with an access key and a secret key, a line each, that only its owner can read; without it, they are those of
    /// SLOTCAST_ACCESS_KEY and SLOTCAST_SECRET_KEY
    #[arg(long, value_name = "FILE", env = "SLOTCAST_CREDENTIALS", hide_env_values = true)]
    credentials: Option<PathBuf>,

    /// Certificates (PEM) of whom to believe who the node is; without it, those of the system
    #[arg(long, value_name = "FILE", env = "SLOTCAST_CA")]
    ca: Option<PathBuf>,

    /// Send keys to another machine also without TLS: whoever is on the way can read and use them
    #[arg(long)]
    insecure: bool,
}

/// Where a node is reached.
pub(super) struct Place {
    /// `http://ADDRESS:PORT`.
    pub(super) origin: String,
    is_encrypted: bool,
    is_here: bool,
}

impl Place {
    fn of(text: &str) -> Place {
        let text = text.trim_end_matches('/');
        let (is_encrypted, rest) =
            match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
                (Some(rest), _) => (true, rest),
                (None, Some(rest)) => (false, rest),
                (None, None) => (false, text),
            };
        let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        // Whoever connects to no address at all connects to this machine.
        let is_here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        let is_here = host == "localhost" || host.parse().is_ok_and(is_here);
        let scheme = if is_encrypted { "https" } else { "http" };
        Place { origin: format!("{scheme}://{rest}"), is_encrypted, is_here }
    }
}

fn wrong(message: String, help: &str) -> Box<InputError> {
    InputError::plain(message).with_help(Some(help.into()))
}

fn certificates(path: &Path) -> Result<RootCerts, Box<InputError>> {
    let help = "give --ca a file with certificates in PEM";
    let failed = |error: &dyn std::fmt::Display| {
        wrong(format!("the certificates in `{}`: {error}", path.display()), help)
    };
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| failed(&error))? {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(failed(&"there is none")),
        false => Ok(RootCerts::new_with_certs(&found)),
    }
}

impl NodeOption {
    pub(crate) fn at(address: SocketAddr) -> NodeOption {
        NodeOption { node: address.to_string(), credentials: None, ca: None, insecure: false }
    }

    /// The node as it was named.
    pub(super) fn name(&self) -> &str {
        &self.node
    }

    /// Where the node is.
    pub(super) fn place(&self) -> Place {
        Place::of(&self.node)
    }

    fn keys(&self) -> Result<Option<Keys>, Failure> {
        let Some(path) = &self.credentials else { return keys_of_environment() };
        let help = "it has an access key and a secret key, a line each, as `s3-keys` in the folder of a store";
        let keys = Keys::from_file(path).map_err(|error| wrong(error.to_string(), help))?;
        Ok(Some(keys))
    }

    /// How to speak with it.
    ///
    /// # Errors
    /// If keys or certificates cannot be read, or keys would go to another machine for everybody to read.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(10)));
        let place = self.place();
        if let Some(keys) = self.keys()? {
            if !(place.is_encrypted || place.is_here || self.insecure) {
                let message = format!("keys would be sent to {} without TLS", place.origin);
                let help = "write https:// before its address, or give --insecure where nobody is on the way";
                return Err(wrong(message, help).into());
            }
            let pair = format!("{}:{}", keys.access(), keys.secret().expose());
            let text = format!("Basic {}", BASE64.encode(pair.as_bytes()));
            let mut value = HeaderValue::try_from(text)
                .map_err(|error| wrong(format!("the keys: {error}"), "make others"))?;
            value.set_sensitive(true);
            config = config.middleware(
                move |mut request: Request<SendBody<'_>>, next: MiddlewareNext<'_>| {
                    request.headers_mut().insert(header::AUTHORIZATION, value.clone());
                    next.handle(request)
                },
            );
        }
        if place.is_encrypted {
            let path = self.ca.as_deref().unwrap_or(Path::new(SYSTEM_CERTIFICATES));
            let tls = TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .unversioned_rustls_crypto_provider(Arc::new(
                    rustls::crypto::ring::default_provider(),
                ))
                .root_certs(certificates(path)?);
            config = config.tls_config(tls.build());
        }
        Ok(config.build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_here_or_elsewhere_and_encrypts_or_not() {
        let place = |text: &str| {
            let Place { origin, is_encrypted, is_here } = Place::of(text);
            (origin, is_encrypted, is_here)
        };
        assert_eq!(place("127.0.0.1:7480"), ("http://127.0.0.1:7480".into(), false, true));
        assert_eq!(place("https://[::1]:1/"), ("https://[::1]:1".into(), true, true));
        assert_eq!(place("http://10.0.0.1:2"), ("http://10.0.0.1:2".into(), false, false));
        assert_eq!(place("localhost:3"), ("http://localhost:3".into(), false, true));
        assert!(!place("127.0.0.1.example.org:3").2);
    }
}
