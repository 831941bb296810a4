//! The folder of a sweep: every finished run, one line each, appended when it ends.
//!
//! A line is written whole or not at all, as far as the reader can tell: what stands after the last
//! end of line was torn by a crash or a full disk, and is cut. The file is locked while it is open.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::RunKey;
use super::record::Record;
use crate::input_error::InputError;
use crate::runner::Execution;

/// The file in the folder.
const FILE: &str = "runs.jsonl";

/// The runs that are kept in a folder, which belongs to this process alone while this lives.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    file: File,
    /// Of what is whole in the file, in bytes.
    length: u64,
    runs: BTreeMap<RunKey, Record>,
    torn: usize,
    damaged: usize,
}

impl Results {
    /// Opens the results in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// If that fails, or another process has them open.
    pub fn open(folder: &Path) -> Result<Results, Box<InputError>> {
        let path = Results::file(folder);
        let place = |error: io::Error| {
            InputError::plain(format!("cannot keep results in `{}`: {error}", folder.display()))
                .with_help(Some("choose another folder with `--out`".into()))
        };
        std::fs::create_dir_all(folder).map_err(place)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(place)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let message =
                    format!("another process is at work on the results in `{}`", folder.display());
                let help = "wait until it is done, or choose another folder with `--out`";
                InputError::plain(message).with_help(Some(help.into()))
            }
            TryLockError::Error(error) => place(error),
        })?;

        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(place)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let torn = text.len() - whole;
        let mut runs = BTreeMap::new();
        let mut damaged = 0;
        for line in text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match Record::read(line) {
                Some((key, record)) => drop(runs.insert(key, record)),
                None => damaged += 1,
            }
        }
        let length = whole as u64;
        let mut results = Results { folder: folder.into(), file, length, runs, torn, damaged };
        results.cut().map_err(place)?;
        Ok(results)
    }

    /// The file in which the runs of `folder` are.
    pub fn file(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }

    /// Where the runs are kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Bytes of a torn line at the end that were cut when the results were opened.
    pub fn torn(&self) -> usize {
        self.torn
    }

    /// Whole lines that could not be read, and are left alone.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    pub(super) fn has(&self, key: &RunKey) -> bool {
        self.runs.contains_key(key)
    }

    pub(super) fn execution(&self, key: &RunKey) -> Option<Execution> {
        self.runs.get(key).map(Record::execution)
    }

    /// Keeps a finished run. If that fails nothing of it is left behind.
    pub(super) fn keep(&mut self, key: RunKey, label: &str, run: &Execution) -> io::Result<()> {
        self.append(key, Record::new(key, label, run))
    }

    /// Keeps a finished run as its record. If that fails nothing of it is left behind.
    pub(super) fn append(&mut self, key: RunKey, record: Record) -> io::Result<()> {
        let line = record.line();
        if let Err(error) = self.file.write_all(&line) {
            // The next process would cut it as well; this only leaves the file tidy.
            let _ = self.cut();
            return Err(error);
        }
        self.length += line.len() as u64;
        self.runs.insert(key, record);
        Ok(())
    }

    /// Cuts what stands after the last whole line.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(drop)
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// The error for a run that could not be kept, when `runs` of `total` are.
    pub(super) fn not_kept(&self, error: &io::Error, runs: usize, total: usize) -> Box<InputError> {
        let path = self.folder.join(FILE);
        let message = format!("cannot keep a finished run in `{}`: {error}", path.display());
        let help = format!(
            "{runs} of {total} runs are kept; make room, then give the same command again to go on"
        );
        InputError::plain(message).with_help(Some(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::metrics::tests::report;
    use crate::sweep::Program;
    use std::time::Duration;

    /// A folder of this test's own, empty.
    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("slotcast-results-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn key(seed: u64) -> RunKey {
        let program = Program::of_this_process().unwrap();
        RunKey::of(&program, &Configuration::default(), seed)
    }

    fn run(seed: u64) -> Execution {
        let mut report = report(seed, &[100, 200]);
        report.completions.clear();
        Execution {
            report,
            wall: Duration::from_millis(5),
            batches: crate::warmup::Batches::default(),
        }
    }

    fn filled(folder: &Path) {
        let mut results = Results::open(folder).unwrap();
        for seed in 1..=3 {
            results.keep(key(seed), "x=1", &run(seed)).unwrap();
        }
    }

    #[test]
    fn what_was_kept_is_there_again() {
        let folder = folder("again");
        filled(&folder);
        let results = Results::open(&folder).unwrap();
        assert_eq!((results.len(), results.torn(), results.damaged()), (3, 0, 0));
        assert_eq!(results.execution(&key(2)).unwrap().report, run(2).report);
        assert!(!results.has(&key(4)));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_torn_line_is_cut_wherever_it_is_torn() {
        let folder = folder("torn");
        filled(&folder);
        let path = folder.join(FILE);
        let whole = std::fs::read(&path).unwrap();
        let last = whole[..whole.len() - 1].iter().rposition(|&b| b == b'\n').unwrap() + 1;
        for end in [last + 1, last + 20, whole.len() - 1] {
            std::fs::write(&path, &whole[..end]).unwrap();
            let mut results = Results::open(&folder).unwrap();
            assert_eq!((results.len(), results.torn(), results.damaged()), (2, end - last, 0));
            results.keep(key(3), "x=1", &run(3)).unwrap();
            drop(results);
            assert_eq!(std::fs::read(&path).unwrap(), whole, "as if nothing had happened");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_line_costs_no_other() {
        let folder = folder("damaged");
        filled(&folder);
        let path = folder.join(FILE);
        let mut text = std::fs::read(&path).unwrap();
        text[2] = b'!';
        std::fs::write(&path, &text).unwrap();
        let results = Results::open(&folder).unwrap();
        assert_eq!((results.len(), results.torn(), results.damaged()), (2, 0, 1));
        drop(results);
        assert_eq!(std::fs::read(&path).unwrap(), text, "it is left alone");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn one_process_at_a_time() {
        let folder = folder("lock");
        let first = Results::open(&folder).unwrap();
        let error = Results::open(&folder).unwrap_err().to_string();
        assert!(error.contains("another process is at work"), "{error}");
        drop(first);
        assert!(Results::open(&folder).unwrap().is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
