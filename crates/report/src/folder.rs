//! The folder of a report: only our own files are written, and only whole ones.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt};

use serde::{Deserialize, Serialize};

/// The page, and the list of what belongs to it.
const PAGE: &str = "index.html";
const LIST: &str = "report.json";

/// Folders of a report. Only files in them can be on the list.
const FOLDERS: [&str; 2] = ["figures", "data"];

/// A folder that a report goes into.
///
/// It may hold other things: they are left alone, and a file of the same name that no report has
/// written is an error. What an earlier report wrote is replaced, and removed if the new one has no
/// such file; `report.json` lists what belongs to the report.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// What an earlier report wrote.
    old: Vec<String>,
}

/// Why a report cannot be written: which file, and what was wrong with it.
#[derive(Debug)]
pub struct WriteFailed {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said, or what was found there.
    pub error: io::Error,
}

impl fmt::Display for WriteFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write `{}`: {}", self.path.display(), self.error)
    }
}

impl error::Error for WriteFailed {}

/// What `report.json` holds.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    generator: String,
    files: Vec<String>,
}

impl Folder {
    /// Opens the folder, and makes it if need be. Called before the work starts, so that a wrong path
    /// is found early.
    ///
    /// # Errors
    /// If the folder cannot be made or written to, or if it holds a page that is not of a report.
    pub fn open(path: &Path) -> Result<Folder, WriteFailed> {
        for folder in FOLDERS {
            let path = path.join(folder);
            fs::create_dir_all(&path).map_err(|error| WriteFailed { path, error })?;
        }
        let folder = Folder { path: path.into(), old: listed(&path.join(LIST))? };
        folder.refuse_foreign(PAGE)?;
        let probe = folder.partial(LIST);
        File::create(&probe)
            .and_then(|_| fs::remove_file(&probe))
            .map_err(|error| WriteFailed { path: probe, error })?;
        Ok(folder)
    }

    /// Whether a report may have a file of that name, relative to its folder.
    pub fn may_hold(name: &Path) -> bool {
        let first = name.components().next().and_then(|first| first.as_os_str().to_str());
        name == Path::new(PAGE)
            || name == Path::new(LIST)
            || first.is_some_and(|first| FOLDERS.contains(&first))
    }

    /// Writes the files called `names`, each by a call of `write`, then `page`.
    ///
    /// # Errors
    /// If one of them cannot be written, or is there already and not from a report. Files are whole or
    /// not there at all, and the page comes last.
    pub fn fill(
        &self,
        names: &[String],
        page: &str,
        mut write: impl FnMut(&str, &mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<PathBuf, WriteFailed> {
        for name in names {
            self.refuse_foreign(name)?;
        }
        // Whatever happens from here on, the next report knows these files for ours.
        let all = names.iter().chain(&self.old).cloned().collect::<BTreeSet<_>>();
        self.write_list(all)?;
        for name in names {
            self.whole(name, |out| write(name, out))?;
        }
        self.whole(PAGE, |out| out.write_all(page.as_bytes()))?;
        for name in self.old.iter().filter(|name| !names.contains(name) && is_in_report(name)) {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(WriteFailed { path, error });
                }
                _ => {}
            }
        }
        self.write_list(names.iter().cloned().collect())?;
        Ok(self.path.join(PAGE))
    }

    fn write_list(&self, files: BTreeSet<String>) -> Result<(), WriteFailed> {
        let generator = concat!("slotcast ", env!("CARGO_PKG_VERSION")).into();
        let list = List { generator, files: files.into_iter().collect() };
        self.whole(LIST, |out| Ok(serde_json::to_writer_pretty(out, &list)?))
    }

    /// An error if `name` is there and no report has written it.
    fn refuse_foreign(&self, name: &str) -> Result<(), WriteFailed> {
        let path = self.path.join(name);
        let is_known = self.old.iter().any(|old| old == name) || name == PAGE && self.has_list();
        if is_known || !path.exists() {
            return Ok(());
        }
        Err(WriteFailed { path, error: foreign() })
    }

    fn has_list(&self) -> bool {
        self.path.join(LIST).exists()
    }

    /// Writes under another name first: whoever looks finds a whole file or none, whatever happens.
    fn whole(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), WriteFailed> {
        let path = self.path.join(name);
        let partial = self.partial(name);
        let written = File::create(&partial).and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?;
            fs::rename(&partial, &path)
        });
        written.map_err(|error| {
            // What was wrong is already known; the rest is tidying up.
            let _ = fs::remove_file(&partial);
            WriteFailed { path, error }
        })
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.partial"))
    }
}

/// The files of an earlier report; none without one.
fn listed(list: &Path) -> Result<Vec<String>, WriteFailed> {
    let failed = |error| WriteFailed { path: list.into(), error };
    match fs::read(list) {
        Ok(text) => match serde_json::from_slice::<List>(&text) {
            Ok(list) if list.generator.starts_with("slotcast ") => Ok(list.files),
            _ => Err(failed(foreign())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

fn foreign() -> io::Error {
    io::Error::other("it is there already and not from a report; give a new or an empty folder")
}

/// Whether `name` can be of a file that a report has written: a list could say anything.
fn is_in_report(name: &str) -> bool {
    let mut parts = name.split('/');
    let folder = parts.next().is_some_and(|folder| FOLDERS.contains(&folder));
    let file = parts.next().is_some_and(|file| !file.is_empty() && !file.starts_with('.'));
    folder && file && parts.next().is_none() && !name.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_cannot_name_files_outside_the_report() {
        assert!(is_in_report("figures/figure9.svg") && is_in_report("data/rows.csv"));
        for name in ["../x", "figures/../x", "/etc/passwd", "figures/", "index.html", "data/.x"] {
            assert!(!is_in_report(name), "{name}");
        }
    }
}
