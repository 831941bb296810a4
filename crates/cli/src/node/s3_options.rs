//! Whether and how a node serves S3.

use std::collections::BTreeSet;
use std::env;
use std::fmt::{self, Write};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::access::{Keys, KeysError};
use slotcast_node::http::Gateway;
use slotcast_node::{Webhook, WebhookConfig};
use slotcast_s3::{GatewayConfig, bucket_for_s3};

use crate::failure::Failure;

/// Where S3 is served unless something else is said.
const DEFAULT: &str = "127.0.0.1:9000";

/// In the folder of a store: its keys.
const KEYS: &str = "s3-keys";

const ACCESS_KEY: &str = "SLOTCAST_ACCESS_KEY";
const SECRET_KEY: &str = "SLOTCAST_SECRET_KEY";
const BUCKET: &str = "SLOTCAST_BUCKET";

/// Where S3 is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "S3")]
pub(crate) struct S3Options {
    /// Serve S3 at this address, or not at all [default: 127.0.0.1:9000, if that is free]
    #[arg(long, value_name = "ADDRESS:PORT|off", num_args = 0..=1, default_missing_value = DEFAULT)]
    s3: Option<Place>,

    /// A domain below which each name is a bucket, as in photos.s3.example.org for s3.example.org; may be given several
    /// times
    #[arg(long = "s3-domain", value_name = "DOMAIN", value_parser = domain)]
    domains: Vec<String>,

    /// Who can be told what happens to objects, as in `log=https://log.example.org/in,token=FILE,ca=FILE`; may be given several
    /// times, and all nodes of a cluster have the same. See docs/operate/notifications.md
    #[arg(
        long = "webhook",
        value_name = "NAME=URL[,token=FILE][,ca=FILE]",
        env = "SLOTCAST_WEBHOOK",
        hide_env_values = true,
        value_delimiter = ' ',
        value_parser = WebhookConfig::read
    )]
    webhooks: Vec<WebhookConfig>,
}

fn domain(text: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match text.split('.').all(is_label) && text.parse::<std::net::Ipv4Addr>().is_err() {
        true => Ok(text.to_owned()),
        false => Err("a domain is a name without a port, as in s3.example.org".into()),
    }
}

/// An address, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Off,
    At(SocketAddr),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        match text {
            "off" => Ok(Place::Off),
            text => text.parse().map(Place::At).map_err(|_| {
                format!("`{text}` is no address: give one with a port, as in {DEFAULT}, or off")
            }),
        }
    }
}

/// The root of a node: whoever has these keys may do everything.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) keys: Keys,
    /// They come from the environment, and so were meant.
    pub(crate) is_given: bool,
    /// A secret key that was just made, and where it is kept.
    made: Option<(String, PathBuf)>,
}

/// S3 is about to be served.
pub(crate) struct S3 {
    address: SocketAddr,
    bucket: Option<String>,
    gateway: Gateway,
}

/// A variable of the environment that is not empty.
pub(super) fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => {
            Err(InputError::plain(format!("{name} is not UTF-8")).into())
        }
    }
}

fn wrong(message: impl fmt::Display, help: impl Into<String>) -> Failure {
    InputError::plain(message.to_string()).with_help(Some(help.into())).into()
}

/// The pair of keys that the environment has.
pub(super) fn keys_of_environment() -> Result<Option<Keys>, Failure> {
    match (variable(ACCESS_KEY)?, variable(SECRET_KEY)?) {
        (Some(access), Some(secret)) => {
            let help = format!("the keys are those of {ACCESS_KEY} and {SECRET_KEY}");
            Keys::new(access, secret).map(Some).map_err(|error| wrong(error, help))
        }
        (Some(_), None) => {
            Err(wrong(format!("{ACCESS_KEY} is set, and {SECRET_KEY} is not"), "set both"))
        }
        (None, Some(_)) => {
            Err(wrong(format!("{SECRET_KEY} is set, and {ACCESS_KEY} is not"), "set both"))
        }
        (None, None) => Ok(None),
    }
}

impl Root {
    /// The keys that the environment has; or those in the folder of the store, which are made there if `makes`.
    ///
    /// # Errors
    /// If there is half a pair, or the file cannot be used.
    pub(crate) fn find(data: Option<&Path>, makes: bool) -> Result<Option<Root>, Failure> {
        if let Some(keys) = keys_of_environment()? {
            return Ok(Some(Root { keys, is_given: true, made: None }));
        }
        let Some(data) = data else { return Ok(None) };
        let path = data.join(KEYS);
        if !makes && !path.exists() {
            return Ok(None);
        }
        let io = |error: std::io::Error| KeysError::Io(path.clone(), error);
        let found = std::fs::create_dir_all(data).map_err(io);
        let found = found.and_then(|()| Keys::in_file(&path));
        let help = format!("or set {ACCESS_KEY} and {SECRET_KEY}");
        let (keys, made) = found.map_err(|error| wrong(error, help))?;
        Ok(Some(Root { keys, is_given: false, made: made.map(|secret| (secret, path)) }))
    }
}

impl S3Options {
    /// Who can be told what happens to objects.
    ///
    /// # Errors
    /// If two have one name, or one cannot be used.
    pub(crate) fn webhooks(&self) -> Result<Vec<Webhook>, Failure> {
        let help = "a webhook is given as --webhook NAME=URL";
        let names: BTreeSet<&str> = self.webhooks.iter().map(|of| &of.name[..]).collect();
        let mut found = Vec::new();
        for config in &self.webhooks {
            found.push(Webhook::new(config).map_err(|error| wrong(error, help))?);
        }
        match names.len() == found.len() {
            true => Ok(found),
            false => Err(wrong("two webhooks have the same name", help)),
        }
    }

    /// What is to be served, if anything.
    ///
    /// # Errors
    /// If the address was asked for and is taken, or the bucket is none.
    pub(crate) fn open(&self) -> Result<Option<S3>, Failure> {
        let (address, is_asked_for) = match self.s3 {
            Some(Place::Off) => return Ok(None),
            Some(Place::At(address)) => (address, true),
            None => (DEFAULT.parse().expect("an address"), false),
        };
        let bucket = variable(BUCKET)?;
        let name = match &bucket {
            Some(bucket) => {
                Some(bucket_for_s3(bucket).map_err(|error| wrong(error, format!("see {BUCKET}")))?)
            }
            None => None,
        };
        let listener = match TcpListener::bind(address) {
            Ok(listener) => listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse && !is_asked_for => {
                eprintln!(
                    "Warning: S3 is not served, since something else listens at {address}: give --s3 ADDRESS:PORT \
                     another port, or --s3 off"
                );
                return Ok(None);
            }
            Err(error) => {
                let message = format!("cannot serve S3 at {address}: {error}");
                return Err(wrong(message, "give --s3 another address"));
            }
        };
        let address = listener.local_addr().unwrap_or(address);
        let gateway = slotcast_s3::gateway(
            listener,
            GatewayConfig { bucket: name, domains: self.domains.clone() },
        );
        Ok(Some(S3 { address, bucket, gateway }))
    }

    /// Whether it was asked for.
    pub(crate) fn is_asked_for(&self) -> bool {
        matches!(self.s3, Some(Place::At(_)))
    }

    /// Whether it was said that it is not to be served.
    pub(crate) fn is_off(&self) -> bool {
        self.s3 == Some(Place::Off)
    }

    /// What is missing where S3 is asked for and there is no root.
    pub(crate) fn needs_keys() -> Failure {
        let message = "S3 needs keys, and all nodes of a cluster the same";
        wrong(message, format!("set {ACCESS_KEY} and {SECRET_KEY}"))
    }
}

impl S3 {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// For people, and what serves it.
    pub(crate) fn parts(self, root: &Root, scheme: &str) -> (String, Gateway) {
        let S3 { address, bucket, gateway } = self;
        let access = root.keys.access();
        let mut text = format!("\nS3 at {scheme}://{address}, access key {access}\n");
        if let Some((secret, path)) = &root.made {
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "The secret key is new, and shown this once:\n\n\
                 \x20 export AWS_ACCESS_KEY_ID={access}\n\
                 \x20 export AWS_SECRET_ACCESS_KEY={secret}\n\
                 \x20 export AWS_ENDPOINT_URL={scheme}://{address} AWS_REGION=us-east-1\n\n\
                 It is kept in {}.\n",
                path.display()
            );
        }
        if let Some(bucket) = bucket {
            let _ = writeln!(text, "The bucket {bucket} is made if it is not there.");
        }
        (text, gateway)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_addresses_or_none() {
        assert_eq!("off".parse(), Ok(Place::Off));
        assert_eq!(DEFAULT.parse(), DEFAULT.parse().map(Place::At).map_err(|_| String::new()));
        assert!("9000".parse::<Place>().is_err_and(|error| error.contains("127.0.0.1:9000")));
    }
}
