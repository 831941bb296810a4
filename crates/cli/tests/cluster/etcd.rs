//! An etcd of one member on the loopback.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) struct Etcd {
    folder: PathBuf,
    /// For clients, and for the members that it has none of.
    ports: [u16; 2],
    process: Option<Child>,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Etcd {
    /// Starts one with its data in `folder`. None where etcd is not installed; in CI that is a failure.
    pub(crate) fn start(folder: &Path) -> Option<Etcd> {
        if Command::new("etcd").arg("--version").stdout(Stdio::null()).status().is_err() {
            let required = std::env::var_os("SLOTCAST_TEST_ETCD").is_some();
            assert!(!required, "etcd is not installed, and SLOTCAST_TEST_ETCD requires it");
            eprintln!("skipped: there is no etcd here; Debian has it in the package etcd-server");
            return None;
        }
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("an address").port());
        let mut etcd = Etcd { folder: folder.join("etcd"), ports, process: None };
        etcd.restart();
        Some(etcd)
    }

    /// The map of a cluster in it.
    pub(crate) fn map(&self) -> String {
        format!("etcd://127.0.0.1:{}/slotcast/test", self.ports[0])
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
        let [client, peer] = self.ports.map(|port| format!("http://127.0.0.1:{port}"));
        let process = Command::new("etcd")
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
