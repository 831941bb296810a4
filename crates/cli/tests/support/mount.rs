//! A file system for a test, where the system lets one be mounted.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A file system that a test has mounted; unmounted when dropped.
pub(crate) struct Mount(pub(crate) PathBuf);

impl Mount {
    /// None, with the reason told, where that is not allowed.
    pub(crate) fn new(at: PathBuf, arguments: &[&str]) -> Option<Mount> {
        fs::create_dir_all(&at).expect("room");
        let output = Command::new("mount").args(arguments).arg(&at).output();
        match output {
            Ok(output) if output.status.success() => Some(Mount(at)),
            Ok(output) => {
                eprintln!("skipped: mount: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: no mount: {error}");
                None
            }
        }
    }

    pub(crate) fn remount(&self, options: &str) {
        let mut command = Command::new("mount");
        command.args(["-o", &format!("remount,{options}")]).arg(&self.0);
        assert!(command.status().expect("it runs").success(), "remount,{options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
