//! TLS: a certificate and its key, from files that are read again when they change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};

use crate::access::secret_file::{self, SecretFileError};
use crate::file_stamp::{LOOK_EVERY, Stamp, stamp};

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("`{path}`: {1}", path = .0.display())]
    Io(PathBuf, io::Error),
    /// Others can read the key.
    #[error("others can read the key in `{path}` (mode {1:03o}): run `chmod 600 {path}`", path = .0.display())]
    Open(PathBuf, u32),
    /// A file has no certificate.
    #[error("`{path}` has no certificate in PEM", path = .0.display())]
    NoCertificate(PathBuf),
    /// A file has no key.
    #[error("`{path}` has no private key in PEM", path = .0.display())]
    NoKey(PathBuf),
    /// They cannot be used together.
    #[error("the certificate in `{path}` and its key: {1}", path = .0.display())]
    Pair(PathBuf, rustls::Error),
    /// None can be made.
    #[error("no certificate can be made: {0}")]
    Made(rcgen::Error),
}

/// A certificate and its key, as the files have them.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    /// Of the files, when they were read last.
    stamps: [Stamp; 2],
}

impl Tls {
    /// The certificate and its key in these files, both PEM. Certificates of whoever signed it follow it.
    ///
    /// # Errors
    /// If they cannot be read or do not belong together, or others can read the key.
    pub fn of_files(certificate: PathBuf, key: PathBuf) -> Result<Tls, TlsError> {
        let stamps = [stamp(&certificate), stamp(&key)];
        let config = Arc::new(load(&certificate, &key)?);
        Ok(Tls { certificate, key, current: Mutex::new(Current { config, stamps }) })
    }

    /// A certificate that nobody has signed, for these names and addresses: that in `folder`, or one that is made there.
    ///
    /// # Errors
    /// If it cannot be made, written or read.
    pub fn self_signed(folder: &Path, names: Vec<String>) -> Result<Tls, TlsError> {
        let (certificate, key) = (folder.join("tls-cert.pem"), folder.join("tls-key.pem"));
        if !certificate.exists() || !key.exists() {
            let pair = KeyPair::generate().map_err(TlsError::Made)?;
            let parameters = CertificateParams::new(names).map_err(TlsError::Made)?;
            let made = parameters.self_signed(&pair).map_err(TlsError::Made)?;
            let io = |error| TlsError::Io(folder.to_owned(), error);
            fs::create_dir_all(folder).map_err(io)?;
            secret_file::write(&key, pair.serialize_pem().as_bytes()).map_err(io)?;
            fs::write(&certificate, made.pem()).map_err(io)?;
        }
        Tls::of_files(certificate, key)
    }

    /// The file of the certificate, for clients that are to believe it.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// What a connection that begins now is to use.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).config.clone()
    }

    /// Reads the files again if they have changed. What cannot be used is told, and what was there is kept.
    fn look(&self) {
        let stamps = [stamp(&self.certificate), stamp(&self.key)];
        if self.current.lock().unwrap_or_else(PoisonError::into_inner).stamps == stamps {
            return;
        }
        let loaded = load(&self.certificate, &self.key);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.stamps = stamps;
        match loaded {
            Ok(config) => {
                current.config = Arc::new(config);
                tracing::info!(certificate = %self.certificate.display(), "certificate read again");
            }
            Err(error) => {
                tracing::warn!(%error, "the new certificate cannot be used: the one before it stays");
            }
        }
    }

    /// Looks after the files as long as somebody needs them.
    pub(crate) async fn follow(tls: Weak<Tls>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let Some(tls) = tls.upgrade() else { return };
            let _ = tokio::task::spawn_blocking(move || tls.look()).await;
        }
    }
}

fn load(certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let text = fs::read(certificate).map_err(|error| TlsError::Io(certificate.into(), error))?;
    let none = || TlsError::NoCertificate(certificate.into());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(none)?;
    let text = secret_file::read(key).map_err(|error| match error {
        SecretFileError::Open(mode) => TlsError::Open(key.into(), mode),
        SecretFileError::Io(error) => TlsError::Io(key.into(), error),
    })?;
    let secret = PrivateKeyDer::from_pem_slice(text.as_bytes());
    let secret = secret.map_err(|_| TlsError::NoKey(key.into()))?;
    let wrong = |error| TlsError::Pair(certificate.into(), error);
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13, &TLS12]).map_err(wrong)?;
    let mut config =
        builder.with_no_client_auth().with_single_cert(chain, secret).map_err(wrong)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_cannot_be_used_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = || vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let tls = Tls::self_signed(folder.path(), names()).expect("it is made");
        let key = folder.path().join("tls-key.pem");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode();
        assert_eq!(mode(&key) & 0o777, 0o600);
        let first = tls.config();
        tls.look();
        assert!(Arc::ptr_eq(&first, &tls.config()), "nothing has changed");
        fs::write(tls.certificate(), "no certificate").expect("room");
        tls.look();
        assert!(Arc::ptr_eq(&first, &tls.config()), "what was there is kept");
        // Another key than that of the certificate.
        let other = folder.path().join("other");
        let made = Tls::self_signed(&other, names()).expect("it is made");
        fs::copy(made.certificate(), tls.certificate()).expect("room");
        tls.look();
        assert!(Arc::ptr_eq(&first, &tls.config()), "they do not belong together");
        fs::copy(other.join("tls-key.pem"), &key).expect("room");
        tls.look();
        assert!(!Arc::ptr_eq(&first, &tls.config()), "the new ones are used");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("it is ours");
        let error = Tls::self_signed(folder.path(), names()).expect_err("others can read it");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
