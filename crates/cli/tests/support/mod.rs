//! Runs the real binary.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a run of `slotcast` gave back.
pub(crate) struct Finished {
    /// Exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The command with `arguments`, in the root of the workspace.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs `slotcast` with `arguments`.
pub(crate) fn slotcast(arguments: &[&str]) -> Finished {
    let Output { status, stdout, stderr } = command(arguments).output().expect("the binary starts");
    Finished {
        status: status.code().expect("no signal"),
        stdout: String::from_utf8(stdout).expect("UTF-8"),
        stderr: String::from_utf8(stderr).expect("UTF-8"),
    }
}

/// What `slotcast sim` says of the experiment `text`, as JSON and to people.
pub(crate) fn sim(name: &str, text: &str, arguments: &[&str]) -> (serde_json::Value, String) {
    let (path, json) = (file(name, text), scratch(&format!("{name}.json")));
    let path = path.to_str().expect("a plain path");
    let mut all = vec!["sim", path, "--json", json.to_str().expect("a plain path")];
    all.extend(arguments);
    let run = slotcast(&all);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let json = std::fs::read_to_string(json).expect("the file was written");
    (serde_json::from_str(&json).expect("JSON"), run.stdout)
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Writes `text` to a file called `name`, for this test program alone.
pub(crate) fn file(name: &str, text: &str) -> PathBuf {
    let path = scratch(name);
    std::fs::write(&path, text).expect("a scratch file");
    path
}

/// A path for a file called `name`, for this test program alone.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder.join(name)
}

/// The experiment that tests run: a small cluster, for a few milliseconds.
pub(crate) const SMALL: &str = r#"
name = "small"
[cluster]
initiators = 18
targets = 18
[run]
length = "4ms"
warmup = "1ms"
[seeds]
first = 1
count = 3
"#;
