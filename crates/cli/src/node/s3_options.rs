//! Whether and how a node serves S3.

use std::env;
use std::fmt::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::http::Gateway;
use slotcast_s3::{Keys, KeysError, bucket_for_s3};

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
    /// Serve S3 too, at this address; also without this option where SLOTCAST_ACCESS_KEY is set, unless this is `off`
    #[arg(long, value_name = "ADDRESS:PORT|off", num_args = 0..=1, default_missing_value = DEFAULT)]
    s3: Option<Place>,
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

/// S3 is about to be served.
pub(crate) struct S3 {
    address: SocketAddr,
    access: String,
    /// A secret key that was just made, and where it is kept.
    made: Option<(String, PathBuf)>,
    bucket: Option<String>,
    gateway: Gateway,
}

fn variable(name: &str) -> Result<Option<String>, Failure> {
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

/// The keys that the environment has, or those in the folder of the store.
fn keys(data: Option<&Path>) -> Result<(Keys, Option<(String, PathBuf)>), Failure> {
    match (variable(ACCESS_KEY)?, variable(SECRET_KEY)?) {
        (Some(access), Some(secret)) => {
            let help = format!("the keys are those of {ACCESS_KEY} and {SECRET_KEY}");
            Keys::new(access, secret).map(|keys| (keys, None)).map_err(|error| wrong(error, help))
        }
        (Some(_), None) => {
            Err(wrong(format!("{ACCESS_KEY} is set, and {SECRET_KEY} is not"), "set both"))
        }
        (None, Some(_)) => {
            Err(wrong(format!("{SECRET_KEY} is set, and {ACCESS_KEY} is not"), "set both"))
        }
        (None, None) => {
            let Some(data) = data else {
                let message = "S3 needs keys, and all nodes of a cluster the same";
                return Err(wrong(message, format!("set {ACCESS_KEY} and {SECRET_KEY}")));
            };
            let path = data.join(KEYS);
            let io = |error: std::io::Error| KeysError::Io(path.clone(), error);
            let found = std::fs::create_dir_all(data).map_err(io);
            let found = found.and_then(|()| Keys::in_file(&path));
            let help = format!("or set {ACCESS_KEY} and {SECRET_KEY}");
            let (keys, made) = found.map_err(|error| wrong(error, help))?;
            Ok((keys, made.map(|secret| (secret, path))))
        }
    }
}

impl S3Options {
    /// What is to be served, if anything: `data` is the folder of the store, where keys can be kept.
    ///
    /// # Errors
    /// If the address is taken, or keys or bucket are none.
    pub(crate) fn open(&self, data: Option<&Path>) -> Result<Option<S3>, Failure> {
        let bucket = variable(BUCKET)?;
        let is_meant = variable(ACCESS_KEY)?.is_some() || variable(SECRET_KEY)?.is_some();
        let address = match self.s3 {
            Some(Place::Off) => return Ok(None),
            Some(Place::At(address)) => address,
            None if is_meant || bucket.is_some() => DEFAULT.parse().expect("an address"),
            None => return Ok(None),
        };
        let name = match &bucket {
            Some(bucket) => {
                Some(bucket_for_s3(bucket).map_err(|error| wrong(error, format!("see {BUCKET}")))?)
            }
            None => None,
        };
        let listener = listen_at(address)?;
        let address = listener.local_addr().unwrap_or(address);
        if !address.ip().is_loopback() {
            eprintln!(
                "Warning: S3 at {address} asks for signatures, and encrypts nothing: whoever is on the way can read \
                 all content"
            );
        }
        let (keys, made) = keys(data)?;
        let access = keys.access().to_owned();
        let gateway = slotcast_s3::gateway(listener, keys, name);
        Ok(Some(S3 { address, access, made, bucket, gateway }))
    }
}

fn listen_at(address: SocketAddr) -> Result<TcpListener, Failure> {
    let help = match address.to_string() == DEFAULT {
        true => format!(
            "it is the usual port of S3: give --s3 ADDRESS:PORT another one, or --s3 off, where {ACCESS_KEY} is set for \
             something else"
        ),
        false => "give --s3 another address".into(),
    };
    TcpListener::bind(address)
        .map_err(|error| wrong(format!("cannot serve S3 at {address}: {error}"), help))
}

impl S3 {
    /// For people, and what serves it.
    pub(crate) fn parts(self) -> (String, Gateway) {
        let S3 { address, access, made, bucket, gateway } = self;
        let mut text = format!("\nS3 at http://{address}, access key {access}\n");
        if let Some((secret, path)) = made {
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "The secret key is new, and shown this once:\n\n\
                 \x20 export AWS_ACCESS_KEY_ID={access}\n\
                 \x20 export AWS_SECRET_ACCESS_KEY={secret}\n\
                 \x20 export AWS_ENDPOINT_URL=http://{address} AWS_REGION=us-east-1\n\n\
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
