//! Processes of a drill: each ends with its drill, however that ends.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a process that was asked to stop may take; then it is killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// So many of the last lines of a log say why a process has ended.
const LAST_LINES: usize = 5;

/// A process that was started; killed when dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// What it says goes there.
    log: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Starts `program`, without what the environment says of Slotcast. It is in a group of its own: Ctrl-C is for the drill.
    ///
    /// Called by the main thread alone: where the system sees to it that a process ends with the drill, it ends with the thread that
    /// has started it.
    ///
    /// # Errors
    /// If the program cannot be started, or nothing can be written to its log.
    pub(super) fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: &Path,
    ) -> io::Result<Process> {
        let out: File = OpenOptions::new().create(true).append(true).open(log)?;
        let child = without_settings(&mut bound_to_this(program))
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()?;
        Ok(Process { child, log: log.to_owned() })
    }

    /// Kills it, and does not wait until it is gone.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Asks it to stop, and waits for that.
    pub(super) fn stop(mut self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let asked = id.is_some_and(|id| kill_process(id, Signal::TERM).is_ok());
        let since = Instant::now();
        while asked && since.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(20));
        }
    }

    /// Its resident memory in bytes, its open files and its threads, as Linux says.
    pub(super) fn in_hand(&self) -> io::Result<[u64; 3]> {
        let folder = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(folder.join("status"))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            word.ok_or_else(|| io::Error::other(format!("{name} is not in {}", folder.display())))
        };
        let (memory, threads) = (number("VmRSS:")? * 1024, number("Threads:")?);
        Ok([memory, fs::read_dir(folder.join("fd"))?.count() as u64, threads])
    }

    /// Why it has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status: ExitStatus = self.child.try_wait().ok()??;
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
        Some(format!("{status}; {} says:\n  {last}", self.log.display()))
    }
}

/// A command that ends with this process, also if that is killed, where the system has `setpriv` (util-linux).
fn bound_to_this(program: &Path) -> Command {
    static HAS_SETPRIV: OnceLock<bool> = OnceLock::new();
    let has_setpriv = || {
        let tried = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    };
    if !*HAS_SETPRIV.get_or_init(has_setpriv) {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Nodes of a drill are told by their files what they are to do, and by nothing else.
pub(super) fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SLOTCAST_") {
            command.env_remove(name);
        }
    }
    command
}
