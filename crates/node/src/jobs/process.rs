//! A command that has an object on standard input, and its output on standard output.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use rustix::process::{Pid, Signal, kill_process_group};
use slotcast_job::Transform;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::sandbox::{OwnFolder, Sandbox};
use crate::content_stream::ContentError;

/// Bytes of standard error that are kept, the last ones.
const MAX_ERRORS: usize = 2 << 10;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Why there is no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The object could not be read to its end.
    Input(String),
    /// The command did not end well.
    Command(String),
}

/// Why there is no output, once it is known. The first reason counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Reason(Arc<Mutex<Option<Failure>>>);

impl Reason {
    fn set(&self, failure: Failure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    pub(super) fn take(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn get(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A running command. It ends when this is dropped, with all that it has started in its process group.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    stdout: ChildStdout,
    feeder: JoinHandle<()>,
    errors: JoinHandle<Vec<u8>>,
    reason: Reason,
    timeout: Duration,
    deadline: Instant,
    _folder: OwnFolder,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.feeder.abort();
        self.errors.abort();
    }
}

impl Process {
    pub(super) fn start(
        sandbox: &Sandbox,
        transform: &Transform,
        about: (&str, &str),
        content: impl Stream<Item = Result<Bytes, ContentError>> + Send + 'static,
    ) -> io::Result<Process> {
        let folder = OwnFolder::new()?;
        let mut child = sandbox.command(transform, about, folder.path()).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let none = || io::Error::other("no pipe");
        let stdin = child.stdin.take().ok_or_else(none)?;
        let stdout = child.stdout.take().ok_or_else(none)?;
        let stderr = child.stderr.take().ok_or_else(none)?;
        let reason = Reason::default();
        let feeder = tokio::spawn(feed(stdin, content, reason.clone()));
        let errors = tokio::spawn(last_of(stderr));
        let timeout = Duration::from_millis(transform.timeout_ms);
        let deadline = Instant::now() + timeout;
        let _folder = folder;
        Ok(Process { child, group, stdout, feeder, errors, reason, timeout, deadline, _folder })
    }

    pub(super) fn reason(&self) -> Reason {
        self.reason.clone()
    }

    /// Ends all processes of its group. The number is not that of another one as long as nobody has waited for the child.
    fn kill(&mut self) {
        if let Some(group) = self.group.take().filter(|_| self.child.id().is_some()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// All that it writes, and after the last byte an error unless it has ended well.
    pub(super) fn output(self) -> impl Stream<Item = Result<Bytes, String>> {
        stream::unfold(Some(self), |process| async move {
            let mut process = process?;
            match process.next().await {
                Ok(Some(piece)) => Some((Ok(piece), Some(process))),
                Ok(None) => None,
                Err(failure) => {
                    process.reason.set(failure);
                    Some((Err("there is no output".into()), None))
                }
            }
        })
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let mut piece = vec![0; PIECE];
        let read = timeout_at(self.deadline, self.stdout.read(&mut piece)).await;
        match read {
            Err(_) => Err(self.too_late().await),
            Ok(Err(error)) => Err(Failure::Command(format!("its output: {error}"))),
            Ok(Ok(0)) => self.end().await.map(|()| None),
            Ok(Ok(length)) => {
                piece.truncate(length);
                Ok(Some(piece.into()))
            }
        }
    }

    async fn too_late(&mut self) -> Failure {
        self.kill();
        let errors = self.last_errors().await;
        Failure::Command(format!("it took longer than {} ms{errors}", self.timeout.as_millis()))
    }

    /// It has closed its output.
    async fn end(&mut self) -> Result<(), Failure> {
        let Ok(status) = timeout_at(self.deadline, self.child.wait()).await else {
            return Err(self.too_late().await);
        };
        let status = status.map_err(|error| Failure::Command(error.to_string()))?;
        if !status.success() {
            let errors = self.last_errors().await;
            return Err(Failure::Command(format!("{status}{errors}")));
        }
        // It has ended, so whoever writes to it ends, too, unless something else that it has started still reads.
        if timeout_at(self.deadline, &mut self.feeder).await.is_err() {
            return Err(Failure::Command("it left something behind that goes on reading".into()));
        }
        self.reason.get().map_or(Ok(()), Err)
    }

    /// The end of what it has written to standard error, for people.
    async fn last_errors(&mut self) -> String {
        // What it has started may still have it open.
        let wait = Instant::now() + Duration::from_secs(1);
        match timeout_at(wait, &mut self.errors).await {
            Ok(Ok(bytes)) if !bytes.is_empty() => {
                format!(": {}", String::from_utf8_lossy(&bytes).trim_end())
            }
            _ => String::new(),
        }
    }
}

/// Writes an object to a command. That the command does not want all of it is nothing wrong.
async fn feed(
    mut stdin: ChildStdin,
    content: impl Stream<Item = Result<Bytes, ContentError>>,
    reason: Reason,
) {
    let mut content = std::pin::pin!(content);
    while let Some(piece) = content.next().await {
        match piece {
            Ok(piece) => {
                if stdin.write_all(&piece).await.is_err() {
                    return;
                }
            }
            Err(error) => return reason.set(Failure::Input(error.to_string())),
        }
    }
    // What it writes then ends.
    let _ = stdin.shutdown().await;
}

async fn last_of(mut stderr: ChildStderr) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(length @ 1..) = stderr.read(&mut piece).await {
        all.extend_from_slice(&piece[..length]);
        let surplus = all.len().saturating_sub(MAX_ERRORS);
        all.drain(..surplus);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(command: &str) -> Transform {
        Transform {
            command: command.into(),
            suffix: String::new(),
            timeout_ms: 20_000,
            cpu_s: 10,
            memory: 1 << 30,
            network: false,
        }
    }

    async fn run(transform: &Transform, input: &'static [u8]) -> Result<Vec<u8>, Failure> {
        let sandbox = Sandbox::probe().await;
        let content = stream::iter([Ok(Bytes::from_static(input))]);
        let process =
            Process::start(&sandbox, transform, ("a/b", "x"), content).expect("it starts");
        let reason = process.reason();
        let pieces: Vec<_> = process.output().collect().await;
        match reason.take() {
            Some(failure) => Err(failure),
            None => Ok(pieces.into_iter().flat_map(|piece| piece.expect("no reason")).collect()),
        }
    }

    fn why(result: Result<Vec<u8>, Failure>) -> String {
        match result {
            Err(Failure::Command(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn output_is_what_a_command_makes_of_its_input() {
        assert_eq!(run(&transform("tr a-z A-Z"), b"abc").await, Ok(b"ABC".to_vec()));
        assert_eq!(run(&transform("echo $SLOTCAST_NAME; ls"), b"").await, Ok(b"a/b\n".to_vec()));
        // It does not want its input.
        assert_eq!(run(&transform("true"), &[7; 300_000]).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_well_says_why() {
        let reason = why(run(&transform("echo half; echo broken >&2; exit 3"), b"").await);
        assert!(reason.contains('3') && reason.ends_with("broken"), "{reason}");
        for signal in ["TERM", "KILL"] {
            let _ = why(run(&transform(&format!("kill -{signal} $$; echo half")), b"").await);
        }
        let short = Transform { timeout_ms: 200, ..transform("sleep 1000 & sleep 1000") };
        assert!(why(run(&short, b"").await).contains("longer than 200 ms"));
        let greedy =
            Transform { memory: 64 << 20, ..transform("head -c 500000000 /dev/zero | tail") };
        let _ = why(run(&greedy, b"").await);
        let busy = Transform { cpu_s: 1, ..transform("while true; do true; done") };
        let _ = why(run(&busy, b"").await);
    }

    #[tokio::test]
    async fn an_object_that_breaks_off_has_no_output() {
        let sandbox = Sandbox::default();
        let broken = stream::iter([Ok(Bytes::from_static(b"half")), Err(ContentError::Busy)]);
        let process =
            Process::start(&sandbox, &transform("cat"), ("a", "b"), broken).expect("it starts");
        let reason = process.reason();
        let pieces: Vec<_> = process.output().collect().await;
        assert!(pieces.last().is_some_and(Result::is_err), "{pieces:?}");
        assert!(matches!(reason.take(), Some(Failure::Input(_))));
    }
}
