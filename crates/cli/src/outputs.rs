//! The files that a command reads and writes: no output may be an input, another output, or a file
//! that this program has not written. All of that is checked before anything runs.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use slotcast_lab::InputError;
use slotcast_report::Folder;

use crate::failure::Failure;
use crate::output::{Destination, Partial, file_failed};

/// What is written into a file. An earlier file of the same kind is replaced, any other is not.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// A result as JSON.
    Json,
    /// A trace for the Perfetto viewer.
    Trace,
    /// The events of a run, a line each.
    Events,
    /// A page of this title.
    Page(&'a str),
    /// This text, made for people to go on with: only a file that says the same is replaced.
    Text(&'a str),
}

/// So much of a file says what it is.
const HEAD: u64 = 4096;

impl Kind<'_> {
    /// Whether the file at `path` is an earlier output of this kind, or holds nothing.
    fn may_replace(self, path: &Path) -> io::Result<bool> {
        let limit = if let Kind::Text(text) = self { text.len() as u64 + 1 } else { HEAD };
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
        let head = String::from_utf8_lossy(&bytes);
        Ok(bytes.is_empty()
            || match self {
                Kind::Json => head.starts_with("{\n  \"") && head.contains("\n  \"version\": \""),
                Kind::Trace => head.starts_with("{\"displayTimeUnit\": \"ns\",\n\"otherData\": "),
                Kind::Events => {
                    let mut words = head.split_whitespace();
                    words.next() == Some("time_us") && words.next() == Some("sequence")
                }
                Kind::Page(title) => head.starts_with(title),
                Kind::Text(text) => bytes == text.as_bytes(),
            })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Json => "an earlier result",
            Kind::Trace => "an earlier trace",
            Kind::Events => "an earlier list of events",
            Kind::Page(_) => "an earlier page of this kind",
            Kind::Text(_) => "the same text",
        }
    }
}

/// Which file a path leads to, by whatever way.
#[derive(Debug, PartialEq)]
struct Identity {
    path: PathBuf,
    /// Device and number of a file that is there: two names may lead to one.
    file: Option<(u64, u64)>,
}

impl Identity {
    fn is(&self, other: &Identity) -> bool {
        self.path == other.path || self.file.is_some() && self.file == other.file
    }
}

/// The files of one command, as they are named one after another.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// What must not be written over, and what it is.
    taken: Vec<(String, Identity)>,
    /// Folders in which reports will have their files, and who named them.
    reports: Vec<(String, PathBuf)>,
}

impl Outputs {
    /// For a command that reads `inputs`, which need not be there.
    pub(crate) fn beside<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>) -> Outputs {
        let mut outputs = Outputs::default();
        for input in inputs {
            outputs.keep("an input", input.as_ref());
        }
        outputs
    }

    /// Lets no output go to `path`, which is `what`.
    pub(crate) fn keep(&mut self, what: &str, path: &Path) {
        // What is not there, or no file, cannot be written over.
        if let Some((_, identity)) = found(path).ok().filter(|(data, _)| data.is_file()) {
            self.taken.push((what.into(), identity));
        }
    }

    /// The place that `option` names, if it was given.
    ///
    /// # Errors
    /// If it is an input, the place of another output, a file that is not of this kind, or if nothing can
    /// be written there.
    pub(crate) fn file(
        &mut self,
        option: &str,
        path: Option<&Path>,
        kind: Kind<'_>,
    ) -> Result<Option<Destination>, Failure> {
        let Some(path) = path else { return Ok(None) };
        if path == Path::new("-") {
            return Ok(Some(Destination::Stdout));
        }
        let failed = |error| file_failed(path, error);
        let identity = match found(path) {
            Ok((data, _)) if data.is_dir() => {
                return Err(refused(option, path, "it is a folder", "give the path of a file"));
            }
            Ok((data, _)) if !data.is_file() => {
                return Ok(Some(Destination::Stream(path.into())));
            }
            Ok((_, identity)) => {
                self.refuse_taken(option, path, &identity)?;
                if !kind.may_replace(path).map_err(failed)? {
                    let why = format!("it is there already and not {}", kind.name());
                    return Err(refused(option, path, &why, "move it away, or give another path"));
                }
                identity
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let identity = new(path).map_err(failed)?;
                self.refuse_taken(option, path, &identity)?;
                identity
            }
            Err(error) => return Err(failed(error)),
        };
        // Found now that nothing can be written there, not after hours of work.
        Partial::beside(&identity.path).map_err(failed)?;
        let place = identity.path.clone();
        self.taken.push((format!("the place of {option}"), identity));
        Ok(Some(Destination::File(place)))
    }

    /// The folder that `option` names for a report, if it was given. Named before the files.
    ///
    /// # Errors
    /// If nothing can be written there, or a page is there that is of no report.
    pub(crate) fn report(
        &mut self,
        option: &str,
        path: Option<&Path>,
    ) -> Result<Option<Folder>, Failure> {
        let Some(path) = path else { return Ok(None) };
        if let Ok((_, identity)) = found(path) {
            self.refuse_taken(option, path, &identity)?;
        }
        let folder = Folder::open(path)?;
        let real = fs::canonicalize(path).map_err(|error| file_failed(path, error))?;
        for (what, taken) in &self.taken {
            if is_of_report(&real, &taken.path) {
                let why = format!("{what}, `{}`, lies where its files go", taken.path.display());
                return Err(refused(option, path, &why, "give another folder"));
            }
        }
        self.reports.push((option.into(), real));
        Ok(Some(folder))
    }

    fn refuse_taken(&self, option: &str, path: &Path, identity: &Identity) -> Result<(), Failure> {
        if let Some((what, _)) = self.taken.iter().find(|(_, taken)| taken.is(identity)) {
            return Err(refused(option, path, &format!("it is {what}"), "give another path"));
        }
        let report = self.reports.iter().find(|(_, folder)| is_of_report(folder, &identity.path));
        if let Some((report, _)) = report {
            let why = format!("the report of {report} has its own files there");
            return Err(refused(option, path, &why, "give a path outside of its folder"));
        }
        Ok(())
    }
}

/// Whether `path` is where a report in `folder` may write.
fn is_of_report(folder: &Path, path: &Path) -> bool {
    path.strip_prefix(folder).is_ok_and(Folder::may_hold)
}

fn refused(option: &str, path: &Path, why: &str, help: &str) -> Failure {
    let message = format!("{option} would write over `{}`: {why}", path.display());
    InputError::plain(message).with_help(Some(help.into())).into()
}

/// What is at `path`, and which file that is.
fn found(path: &Path) -> io::Result<(Metadata, Identity)> {
    let data = fs::metadata(path)?;
    let file = number(&data);
    Ok((data, Identity { path: fs::canonicalize(path)?, file }))
}

#[cfg(unix)]
fn number(data: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The file that will be at `path`, where there is none.
fn new(path: &Path) -> io::Result<Identity> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::Error::other("it is a link to nothing"));
    }
    let Some(name) = path.file_name() else {
        return Err(io::Error::other("it is no path of a file"));
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    Ok(Identity { path: fs::canonicalize(folder)?.join(name), file: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T>(result: Result<T, Failure>) -> String {
        result.map(drop).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_file_is_replaced_by_its_own_kind_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let kinds =
            [Kind::Json, Kind::Trace, Kind::Events, Kind::Text("# a\n"), Kind::Page("# b\n")];
        let texts = [
            "{\n  \"schema\": 4,\n  \"version\": \"0.1.0\"",
            "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {}",
            "     time_us   sequence place",
            "# a\n",
            "# b\n\nof yesterday\n",
        ];
        for (kind, own) in kinds.iter().zip(texts) {
            for text in texts {
                fs::write(&path, text).expect("a file");
                assert_eq!(
                    kind.may_replace(&path).expect("a file"),
                    text == own,
                    "{kind:?} {text}"
                );
            }
            for foreign in ["my notes", "{}", "{\n  \"a\": 1\n}\n", "# a\n# b\n", "\u{0}"] {
                fs::write(&path, foreign).expect("a file");
                assert!(!kind.may_replace(&path).expect("a file"), "{kind:?} {foreign}");
                let error = said(Outputs::default().file("--json", Some(&path), *kind));
                assert!(error.contains("--json would write over"), "{error}");
                assert_eq!(fs::read_to_string(&path).expect("a file"), foreign);
            }
            fs::write(&path, "").expect("a file");
            assert!(kind.may_replace(&path).expect("a file"), "nothing is lost with an empty one");
        }
    }

    #[test]
    fn one_file_is_known_by_all_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in.json"), "{\n  \"schema\": 1,\n  \"version\": \"1\"\n}").expect("a file");
        fs::hard_link(at("in.json"), at("hard.json")).expect("a link");
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("in.json"), at("soft.json")).expect("a link");
        fs::create_dir(at("sub")).expect("a folder");
        for name in ["in.json", "hard.json", "soft.json", "sub/../in.json"] {
            let mut outputs = Outputs::beside([at("in.json")]);
            let error = said(outputs.file("--json", Some(&at(name)), Kind::Json));
            assert!(error.ends_with("it is an input"), "{error}");
        }
        let mut outputs = Outputs::default();
        outputs.file("--json", Some(&at("new")), Kind::Json).expect("a place");
        let error = said(outputs.file("--trace", Some(&at("sub/../new")), Kind::Trace));
        assert!(error.ends_with("it is the place of --json"), "{error}");
        assert!(!at("new").exists(), "nothing is written before there is something to write");
    }

    #[test]
    fn a_report_keeps_its_files_for_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let report = folder.path().join("report");
        let mut outputs = Outputs::default();
        outputs.report("--report", Some(&report)).expect("a folder");
        for own in ["index.html", "report.json", "data/x.json", "figures/x"] {
            let error = said(outputs.file("--json", Some(&report.join(own)), Kind::Json));
            assert!(error.contains("the report of --report"), "{error}");
        }
        outputs.file("--json", Some(&report.join("result.json")), Kind::Json).expect("a place");
        fs::write(report.join("data/in.toml"), "").expect("a file");
        let mut outputs = Outputs::beside([report.join("data/in.toml")]);
        let error = said(outputs.report("--report", Some(&report)));
        assert!(error.contains("an input"), "{error}");
    }

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.json");
        let before = "{\n  \"schema\": 1,\n  \"version\": \"1\"\n}";
        fs::write(&path, before).expect("a file");
        let open = || {
            let place = Outputs::default().file("--json", Some(&path), Kind::Json);
            place.expect("a place").expect("given")
        };
        let torn = open().write(|out| {
            let half = out.write_all(b"half");
            Ok::<_, Failure>(half.and_then(|()| Err(io::Error::other("no space left"))))
        });
        assert!(said(torn).contains("no space left"));
        assert_eq!(fs::read_to_string(&path).expect("a file"), before);
        open().write_text("whole").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "whole");
        let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
