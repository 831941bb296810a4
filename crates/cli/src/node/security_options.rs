//! Whom a node serves, and how it finds out who they are.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::access::{AccessConfig, Demand, MasterKeySource, MasterKeys};
use slotcast_node::audit::Audit;
use slotcast_node::http::{Front, Gateway};
use slotcast_node::tls::Tls;

use super::s3_options::{Root, S3Options, variable};
use crate::failure::Failure;

/// In the folder of a store: what secret keys of users and keys of objects are sealed with.
const MASTER_KEY_FILE: &str = "master-key";

const MASTER_KEY: &str = "SLOTCAST_MASTER_KEY";

/// Whom a node serves.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security")]
pub(crate) struct SecurityOptions {
    /// Serve native HTTP to everybody who reaches its address, be it of the loopback or not: they may read, change and
    /// delete everything, and are asked for nothing. For a network in which everybody may do that anyway
    #[arg(long)]
    insecure: bool,

    /// Let everybody read /metrics, /healthz and /readyz, and not only this machine and whoever has credentials
    #[arg(long)]
    open_metrics: bool,

    /// What secret keys of users and keys of encrypted objects are sealed with, in a file that only its owner can read;
    /// SLOTCAST_MASTER_KEY has it otherwise, or `master-key` in the folder of the store. `slotcast key master` rotates it
    #[arg(long, value_name = "FILE")]
    master_key: Option<PathBuf>,

    /// Encrypt HTTP and S3 (TLS 1.2 and 1.3) with this certificate (PEM), followed by those of whoever signed it; it is
    /// read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Its private key (PEM), in a file that only its owner can read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Encrypt with a certificate that nobody has signed, for a try: it is made once, beside the store
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,

    /// Write a line of JSON to this file for each request that changes something or was refused: who, from where, what
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// Where a node is about to listen.
pub(crate) struct Places<'a> {
    /// Where native HTTP is to be served, and the option or the setting that says so.
    pub(crate) http: (SocketAddr, &'a str),
    /// The folder of the store, where keys can be kept; none of a node of a cluster.
    pub(crate) data: Option<&'a Path>,
    /// Where a certificate can be kept.
    pub(crate) folder: &'a Path,
}

fn wrong(message: impl std::fmt::Display, help: &str) -> Failure {
    InputError::plain(message.to_string()).with_help(Some(help.into())).into()
}

impl SecurityOptions {
    fn master_key(&self, data: Option<&Path>) -> Result<MasterKeySource, Failure> {
        let help = "`slotcast key` prints one; all nodes of a cluster have the same";
        let found = match (&self.master_key, variable(MASTER_KEY)?, data) {
            (Some(path), _, _) => MasterKeySource::of_file(path.clone()),
            (None, Some(text), _) => MasterKeys::read(&text).map(MasterKeySource::Keys),
            (None, None, Some(data)) => {
                return Ok(MasterKeySource::in_file(data.join(MASTER_KEY_FILE)));
            }
            (None, None, None) => return Ok(MasterKeySource::None),
        };
        found.map_err(|error| wrong(error, help))
    }

    /// When native HTTP asks for credentials.
    fn demand(
        &self,
        root: Option<&Root>,
        (address, option): (SocketAddr, &str),
    ) -> Result<Demand, Failure> {
        match root {
            Some(root) if root.is_given && self.insecure => Err(wrong(
                "--insecure serves everybody, and SLOTCAST_ACCESS_KEY is set",
                "leave one of them away",
            )),
            Some(root) if root.is_given => Ok(Demand::Always),
            _ if self.insecure => {
                eprintln!(
                    "Warning: --insecure: everybody who reaches {address} may read, change and delete everything: HTTP asks \
                     nobody who they are"
                );
                Ok(Demand::Never)
            }
            _ if address.ip().is_loopback() => Ok(Demand::IfUsers),
            Some(_) => Ok(Demand::Always),
            None => Err(wrong(
                format!(
                    "{address} can be reached from other machines, and there are no keys to ask them for"
                ),
                &format!(
                    "set SLOTCAST_ACCESS_KEY and SLOTCAST_SECRET_KEY; or give {option} an address of the loopback; or \
                     --insecure, with which everybody who reaches it may do everything"
                ),
            )),
        }
    }

    /// With what connections are encrypted, if they are.
    fn tls(&self, folder: &Path, address: SocketAddr) -> Result<Option<Arc<Tls>>, Failure> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Tls::of_files(certificate.clone(), key.clone()),
            _ if self.tls_self_signed => {
                let mut names = vec!["localhost".into(), "127.0.0.1".into(), "::1".into()];
                // It may be that this machine has no name.
                let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
                let host = host.trim().to_owned();
                let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
                let is_host = |host: &String| !host.is_empty() && host.bytes().all(is_name);
                names.extend(Some(host).filter(is_host));
                if !address.ip().is_unspecified() {
                    names.push(address.ip().to_string());
                }
                Tls::self_signed(folder, names)
            }
            _ => return Ok(None),
        };
        let help = "the certificate and its key are files in PEM";
        tls.map(|tls| Some(Arc::new(tls))).map_err(|error| wrong(error, help))
    }

    /// What is served and to whom, and what is said of that.
    ///
    /// # Errors
    /// If an address is taken, keys are missing or wrong, or everybody could do everything without that being said.
    pub(crate) fn front(
        &self,
        s3: &S3Options,
        listener: std::net::TcpListener,
        places: &Places<'_>,
    ) -> Result<(Front, String), Failure> {
        let Places { http, data, folder } = *places;
        // Nodes of a cluster need the same keys, which only the environment can give them.
        let has_keys = data.is_some() || Root::find(None, false)?.is_some();
        if !has_keys && s3.is_asked_for() {
            return Err(S3Options::needs_keys());
        }
        let served = if has_keys { s3.open()? } else { None };
        let root = Root::find(data, served.is_some())?;
        let demand = self.demand(root.as_ref(), http)?;
        let tls = self.tls(folder, http.0)?;
        let elsewhere = |address: SocketAddr| tls.is_none() && !address.ip().is_loopback();
        if demand == Demand::Always && elsewhere(http.0) {
            warn_of_listeners("HTTP", http.0);
        }
        let (mut about, mut gateways): (String, Vec<Gateway>) = Default::default();
        match (served, &root) {
            (Some(served), Some(root)) => {
                if elsewhere(served.address()) {
                    warn_of_listeners("S3", served.address());
                }
                let (text, gateway) = served.parts(root, scheme(tls.as_ref()));
                (about, gateways) = (text, vec![gateway]);
            }
            _ if !has_keys && !s3.is_off() => {
                about = "\nS3 is not served: it needs SLOTCAST_ACCESS_KEY and SLOTCAST_SECRET_KEY, the same at all nodes.\n".into();
            }
            _ => {}
        }
        if let Some(tls) = tls.as_ref().filter(|_| self.tls_self_signed) {
            about += &format!(
                "\nNobody has signed the certificate. Clients that are to believe it need\n\n\
                 \x20 export SLOTCAST_CA={path} AWS_CA_BUNDLE={path}\n",
                path = tls.certificate().display()
            );
        }
        let access = AccessConfig {
            root: root.map(|root| root.keys),
            master_key: Arc::new(self.master_key(data)?),
            demand,
            open_metrics: self.open_metrics,
        };
        let failed = |path: &Path, error| {
            wrong(
                format!("the audit log `{}`: {error}", path.display()),
                "give --audit another file",
            )
        };
        let open = |path: &PathBuf| Audit::open(path).map_err(|error| failed(path, error));
        let audit = self.audit.as_ref().map(open).transpose()?;
        let webhooks = s3.webhooks()?;
        Ok((Front { listener, gateways, access, tls, audit, transforms: 0, webhooks }, about))
    }
}

/// What addresses of HTTP begin with.
pub(crate) fn scheme(tls: Option<&Arc<Tls>>) -> &'static str {
    if tls.is_some() { "https" } else { "http" }
}

/// Says what it means to serve other machines without TLS.
fn warn_of_listeners(what: &str, address: SocketAddr) {
    eprintln!(
        "Warning: {what} at {address} asks for credentials, and encrypts nothing: whoever is on the way can read them and all \
         content"
    );
}
