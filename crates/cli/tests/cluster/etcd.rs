//! An etcd of one member on the loopback.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};

pub(crate) struct Etcd {
    folder: PathBuf,
    /// For clients, and for the members that it has none of.
    ports: [u16; 2],
    process: Option<Child>,
    /// The folder with certificates and passwords, if it asks for them.
    secrets: Option<PathBuf>,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Etcd {
    /// Starts one with its data in `folder`. None where etcd is not installed; in CI that is a failure.
    pub(crate) fn start(folder: &Path) -> Option<Etcd> {
        Etcd::start_with(folder, None)
    }

    /// One that speaks TLS with whoever has a certificate of its authority, and answers users alone.
    pub(crate) fn start_secured(folder: &Path) -> Option<Etcd> {
        let secrets = folder.join("secrets");
        certify(&secrets);
        let etcd = Etcd::start_with(folder, Some(secrets))?;
        for (what, question) in [
            ("user/add", r#"{"name": "root", "password": "a password"}"#),
            ("role/add", r#"{"name": "root"}"#),
            ("user/grant", r#"{"user": "root", "role": "root"}"#),
            ("enable", "{}"),
        ] {
            etcd.ask(&format!("auth/{what}"), question);
        }
        Some(etcd)
    }

    /// Asks it, without a user.
    fn ask(&self, what: &str, question: &str) {
        let secrets = self.secrets.as_ref().expect("it asks for certificates");
        let output = Command::new("curl")
            .args(["-sS", "--fail-with-body", "--max-time", "60", "--retry", "5", "--cacert"])
            .arg(secrets.join("ca.pem"))
            .arg("--cert")
            .arg(secrets.join("client.pem"))
            .arg("--key")
            .arg(secrets.join("client.key"))
            .args(["-d", question, &format!("https://127.0.0.1:{}/v3/{what}", self.ports[0])])
            .output()
            .expect("curl");
        assert!(output.status.success(), "{what}: {output:?}");
    }

    fn start_with(folder: &Path, secrets: Option<PathBuf>) -> Option<Etcd> {
        if Command::new("etcd").arg("--version").stdout(Stdio::null()).status().is_err() {
            let required = std::env::var_os("SLOTCAST_TEST_ETCD").is_some();
            assert!(!required, "etcd is not installed, and SLOTCAST_TEST_ETCD requires it");
            eprintln!("skipped: there is no etcd here; Debian has it in the package etcd-server");
            return None;
        }
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("an address").port());
        let mut etcd = Etcd { folder: folder.join("etcd"), ports, process: None, secrets };
        etcd.restart();
        Some(etcd)
    }

    /// The map of a cluster in it.
    pub(crate) fn map(&self) -> String {
        let place = format!("127.0.0.1:{}/slotcast/test", self.ports[0]);
        match &self.secrets {
            None => format!("etcd://{place}"),
            Some(secrets) => {
                let file = |name: &str| secrets.join(name).display().to_string();
                format!(
                    "etcds://{place}?ca={}&cert={}&key={}&user=root&password-file={}",
                    file("ca.pem"),
                    file("client.pem"),
                    file("client.key"),
                    file("password")
                )
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts it again, with the data that it had.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let scheme = if self.secrets.is_some() { "https" } else { "http" };
        let client = format!("{scheme}://127.0.0.1:{}", self.ports[0]);
        let peer = format!("http://127.0.0.1:{}", self.ports[1]);
        let mut command = Command::new("etcd");
        if let Some(secrets) = &self.secrets {
            command.arg("--client-cert-auth");
            for (option, name) in [
                ("--trusted-ca-file", "ca.pem"),
                ("--cert-file", "server.pem"),
                ("--key-file", "server.key"),
            ] {
                command.arg(option).arg(secrets.join(name));
            }
        }
        let process = command
            .arg("--data-dir")
            .arg(&self.folder)
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        self.process = Some(process);
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.ports[0])).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "etcd does not listen");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Writes an authority, certificates of a server and a client, and a password into `folder`.
fn certify(folder: &Path) {
    fs::create_dir_all(folder).expect("room");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("room");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    };
    let key = || KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = key();
    let signed = authority.self_signed(&authority_key).expect("a certificate");
    write("ca.pem", &signed.pem());
    let issuer = Issuer::new(authority, authority_key);
    for name in ["server", "client"] {
        let mut one = CertificateParams::new(vec!["127.0.0.1".into()]).expect("parameters");
        // The gateway of etcd is a client of its own server.
        one.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        one.distinguished_name = DistinguishedName::new();
        let key = key();
        write(&format!("{name}.pem"), &one.signed_by(&key, &issuer).expect("a certificate").pem());
        write(&format!("{name}.key"), &key.serialize_pem());
    }
    write("password", "a password\n");
}
