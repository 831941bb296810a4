//! What a command of a job is kept from.
//!
//! A command has an empty folder of its own, a clean environment, limits of computing time and memory (`setrlimit`) and of
//! time. Where the system lets a process make user namespaces, it has no network, and all that it has started ends with it.
//! It is *not* kept from files that the user of the node may read or write: whoever may start transforms may do all that this
//! user may.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use data_encoding::HEXLOWER;
use slotcast_job::Transform;
use tokio::process::Command;

/// What the system can keep a command from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sandbox {
    /// It can have namespaces of its own.
    has_namespaces: bool,
}

/// Sets the limits, and waits for the command. It does not become the command: the first process of a namespace gets no
/// signal that comes from within, so that a command which ends itself with one would go on, and end well.
const LIMITS: &str =
    "ulimit -c 0 && ulimit -t \"$1\" && ulimit -v \"$2\" && { /bin/sh -c \"$0\"; exit $?; }";

/// Namespaces of its own: of users, without which it may have no others, and of processes, which end with the first one.
const NAMESPACES: &[&str] = &["--user", "--map-current-user", "--pid", "--fork", "--kill-child"];

impl Sandbox {
    /// Tries what the system can do.
    pub(super) async fn probe() -> Sandbox {
        let mut command = Command::new("unshare");
        command.args(NAMESPACES).args(["--net", "--", "/bin/true"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let has_namespaces = command.status().await.is_ok_and(|status| status.success());
        if !has_namespaces {
            tracing::warn!(
                "no user namespaces here: commands of jobs are not kept from the network"
            );
        }
        Sandbox { has_namespaces }
    }

    /// How a command is run on an object.
    pub(super) fn command(
        self,
        transform: &Transform,
        (name, bucket): (&str, &str),
        folder: &Path,
    ) -> Command {
        let shell = ["/bin/sh", "-c", LIMITS, &transform.command[..]];
        let limits = [transform.cpu_s.to_string(), (transform.memory >> 10).to_string()];
        let mut command = match self.has_namespaces {
            true => {
                let mut command = Command::new("unshare");
                command.args(NAMESPACES);
                if !transform.network {
                    command.arg("--net");
                }
                command.arg("--").args(shell);
                command
            }
            false => {
                let mut command = Command::new(shell[0]);
                command.args(&shell[1..]);
                command
            }
        };
        command.args(limits);
        command.env_clear();
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LANG", "C.UTF-8").env("HOME", folder).env("TMPDIR", folder);
        command.env("SLOTCAST_NAME", name).env("SLOTCAST_BUCKET", bucket);
        command.current_dir(folder).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// An empty folder that is removed with all that was put into it.
#[derive(Debug)]
pub(super) struct OwnFolder(PathBuf);

impl OwnFolder {
    pub(super) fn new() -> io::Result<OwnFolder> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("slotcast-job-{}", HEXLOWER.encode(&random)));
        std::fs::create_dir(&path)?;
        Ok(OwnFolder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What is left takes room, and that is all.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
