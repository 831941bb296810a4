//! `slotcast cp`.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use getrandom::fill;
use slotcast_lab::InputError;
use slotcast_node::http::ObjectAnswer;

use super::client::{Client, NodeOption};
use super::get::{broken, copy, to_file};
use super::names::{Listed, Names};
use super::place::{ObjectPlace, Place};
use super::put::{Counted, Source};
use crate::failure::{Failure, Outcome};
use crate::output::print;
use crate::progress::Bar;

/// Copy files into a bucket, or objects out of it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast cp report.pdf slot://docs/           under its own name
  slotcast cp report.pdf slot://docs/2026/q3.pdf
  slotcast cp -r photos slot://backup/photos    a folder and all in it
  slotcast cp -r slot://backup/photos .         and back
  slotcast cp --if-absent me slot://locks/leader
  tar c folder | slotcast cp - slot://backup/folder.tar

An object appears under its name when all of it is on stable storage, and a file when all of it was
read; what was there before stays until then. The length of each copy is compared.")]
pub(crate) struct Arguments {
    /// Files, folders or objects; `-` for standard input
    #[arg(required = true, value_name = "FROM")]
    from: Vec<Place>,

    /// Where to; a folder, or names that begin so, where it ends with `/`; `-` for standard output
    #[arg(value_name = "TO")]
    to: Place,

    /// Folders and all in them, or all objects whose names begin so
    #[arg(short, long)]
    recursive: bool,

    /// Only if the name stands for no object: of many who try at the same time one succeeds
    #[arg(long, conflicts_with = "if_version")]
    if_absent: bool,

    /// Only if the name stands for this version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<String>,

    /// How many are copied at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    at_a_time: u8,

    #[command(flatten)]
    node: NodeOption,
}

/// One copy to be made.
enum Copy {
    In(Place, ObjectPlace),
    Out(ObjectPlace, Place),
}

fn wrong<T>(message: String, help: &str) -> Result<T, Failure> {
    Err(InputError::plain(message).with_help(Some(help.into())).into())
}

fn read_failed(path: &Path, error: &io::Error) -> Failure {
    InputError::plain(format!("cannot read `{}`: {error}", path.display())).into()
}

/// All files in a folder, with their paths from there.
fn files_in(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|error| read_failed(folder, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|error| read_failed(folder, &error))?.path());
    }
    paths.sort();
    for path in paths {
        let metadata = fs::metadata(&path).map_err(|error| read_failed(&path, &error))?;
        match metadata.is_dir() {
            true => files_in(&path, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

/// A path as the end of a name.
fn name_of(path: &Path) -> Result<String, Failure> {
    let parts = path.components().map(|part| part.as_os_str().to_str());
    match parts.collect::<Option<Vec<_>>>() {
        Some(parts) => Ok(parts.join("/")),
        None => wrong(
            format!("the name of `{}` is not UTF-8", path.display()),
            "names of objects are: give the file another name",
        ),
    }
}

/// Where a name leads in a folder; nothing leads out of it.
fn path_in(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    let is_within = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_within || name.ends_with('/') || name.contains("//") {
        return wrong(
            format!("the object \"{name}\" has a name that is no path in `{}`", folder.display()),
            "copy it by itself, to a file that you name",
        );
    }
    Ok(folder.join(path))
}

/// Copies into a bucket.
fn copies_in(
    arguments: &Arguments,
    to: &ObjectPlace,
    copies: &mut Vec<Copy>,
) -> Result<(), Failure> {
    let is_folder = to.name.is_empty() || to.name.ends_with('/');
    let below = |name: &str| to.named(format!("{}{name}", to.name));
    for from in &arguments.from {
        match from {
            Place::File(path) if path.is_dir() && arguments.recursive => {
                let mut files = Vec::new();
                files_in(path, &mut files)?;
                let slash = if is_folder { "" } else { "/" };
                for file in files {
                    let end = name_of(file.strip_prefix(path).unwrap_or(&file))?;
                    copies.push(Copy::In(Place::File(file), below(&format!("{slash}{end}"))));
                }
            }
            Place::File(path) if path.is_dir() => {
                let message = format!("`{}` is a folder", path.display());
                return wrong(message, "`slotcast cp -r` copies it with all in it");
            }
            Place::File(path) if is_folder => {
                let end = name_of(Path::new(path.file_name().unwrap_or_default()))?;
                copies.push(Copy::In(from.clone(), below(&end)));
            }
            Place::Stream if is_folder => {
                return wrong(
                    format!("`{to}` is no name"),
                    "say what standard input is to be called",
                );
            }
            Place::File(_) | Place::Stream if arguments.from.len() == 1 => {
                copies.push(Copy::In(from.clone(), to.clone()));
            }
            Place::File(_) | Place::Stream => {
                let message = format!("several files cannot all be `{to}`");
                return wrong(message, "a place that ends with `/` takes several");
            }
            Place::Object(object) => {
                let message = format!("`{object}` and `{to}` are both objects");
                return wrong(message, "copy it to a file, and that into the bucket");
            }
        }
    }
    Ok(())
}

/// Copies out of buckets.
fn copies_out(
    client: &Client,
    arguments: &Arguments,
    copies: &mut Vec<Copy>,
) -> Result<(), Failure> {
    for from in &arguments.from {
        let Place::Object(object) = from else {
            return wrong(
                "neither place is in a bucket".into(),
                "write slot://bucket/name; `cp` of the system copies files",
            );
        };
        match &arguments.to {
            Place::File(folder) if arguments.recursive => {
                // As a folder is: with its own name, unless all in it is meant.
                let above = object.name.rsplit_once('/').map_or(0, |(above, _)| above.len() + 1);
                for listed in Names::new(client, object) {
                    let Listed::Object(found) = listed? else { continue };
                    let path = path_in(folder, &found.name[above..])?;
                    copies.push(Copy::Out(object.named(found.name), Place::File(path)));
                }
            }
            Place::File(folder) if folder.is_dir() => {
                let last = object.name.rsplit('/').next().unwrap_or_default();
                let path = path_in(folder, last)?;
                copies.push(Copy::Out(object.clone(), Place::File(path)));
            }
            to if arguments.from.len() == 1 && !arguments.recursive => {
                copies.push(Copy::Out(object.clone(), to.clone()));
            }
            _ => {
                return wrong("several objects need a folder".into(), "make it, and name it last");
            }
        }
    }
    Ok(())
}

impl Arguments {
    fn copy_in(
        &self,
        client: &Client,
        from: &Place,
        to: &ObjectPlace,
        bar: &Bar,
    ) -> Result<u64, Failure> {
        let (path, shown) = match from {
            Place::File(path) => (path.clone(), format!("`{}`", path.display())),
            _ => (PathBuf::from("-"), "standard input".into()),
        };
        let failed = |error: &dyn std::fmt::Display| {
            InputError::plain(format!("cannot copy {shown}: {error}"))
        };
        let mut source = Source::open(&path).map_err(|error| failed(&error))?;
        let length = source.length();
        let is_cut = client.is_cut();
        is_cut.store(false, Ordering::Relaxed);
        let mut content = Counted { inner: &mut source, bar, is_cut, length: 0 };
        // The same if it has to be sent again: whoever lost an answer is told what came of it.
        let mut key = [0; 16];
        fill(&mut key).map_err(|error| failed(&error))?;
        let mut request = client
            .agent()
            .put(client.url(&to.path()))
            .header("expect", "100-continue")
            .header("idempotency-key", format!("{:032x}", u128::from_be_bytes(key)));
        if self.if_absent {
            request = request.header("if-none-match", "*");
        }
        if let Some(version) = &self.if_version {
            request = request.header("if-match", format!("\"{version}\""));
        }
        if length > 0 {
            request = request.header("content-length", length.to_string());
        }
        let answer = client.checked(request.send(ureq::SendBody::from_reader(&mut content)));
        let read = content.length;
        let text = answer?.body_mut().read_to_string().map_err(|error| failed(&error))?;
        let answer: ObjectAnswer = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        if source.has_changed(read).map_err(|error| failed(&error))? || answer.size != read {
            let message = format!("{shown} changed while it was copied");
            let help = format!("{to} may be what was never in it");
            return Err(InputError::plain(message).with_help(Some(help)).into());
        }
        Ok(read)
    }

    fn copy_out(
        client: &Client,
        from: &ObjectPlace,
        to: &Place,
        bar: &Bar,
    ) -> Result<u64, Failure> {
        let mut answer = client.get(&from.path())?;
        let length = answer.body().content_length();
        bar.expect(length.unwrap_or(0));
        let mut content = answer.body_mut().as_reader();
        match to {
            Place::File(path) => {
                if let Some(folder) = path.parent() {
                    let failed = |error| Failure::Output(format!("`{}`", folder.display()), error);
                    fs::create_dir_all(folder).map_err(failed)?;
                }
                to_file(path, &mut content, length, bar)?;
            }
            _ => {
                let copied = copy(&mut content, &mut io::stdout().lock(), length, bar);
                copied.map_err(|error| broken("standard output", error))?;
            }
        }
        Ok(length.unwrap_or(0))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let client = Client::new(&arguments.node);
    let mut copies = Vec::new();
    match &arguments.to {
        Place::Object(to) => copies_in(arguments, to, &mut copies)?,
        Place::File(_) | Place::Stream => copies_out(&client, arguments, &mut copies)?,
    }
    if arguments.recursive && copies.is_empty() {
        return wrong("there is nothing to copy".into(), "look with `slotcast ls`");
    }
    let length = |copy: &Copy| match copy {
        Copy::In(Place::File(path), _) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
        _ => 0,
    };
    let bar = Bar::new(copies.iter().map(length).sum());
    let next = AtomicUsize::new(0);
    let threads = usize::from(arguments.at_a_time).min(copies.len());
    // Each takes the next one, and all stop at the first that fails: copied again, what is there stays as it is.
    let work = || {
        let client = Client::new(&arguments.node);
        let (mut objects, mut bytes) = (0_u64, 0);
        while let Some(copy) = copies.get(next.fetch_add(1, Ordering::Relaxed)) {
            let copied = match copy {
                Copy::In(from, to) => arguments.copy_in(&client, from, to, &bar),
                Copy::Out(from, to) => Arguments::copy_out(&client, from, to, &bar),
            };
            bytes += copied.inspect_err(|_| next.store(copies.len(), Ordering::Relaxed))?;
            objects += 1;
        }
        Ok((objects, bytes))
    };
    let results: Vec<Result<(u64, u64), Failure>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let panicked = |_| Err(InputError::plain("a thread panicked".to_owned()).into());
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect()
    });
    bar.finish();
    let (mut objects, mut bytes) = (0, 0);
    for result in results {
        let (n, length) = result?;
        (objects, bytes) = (objects + n, bytes + length);
    }
    if arguments.recursive {
        print(&format!("{objects} copied, {bytes} bytes\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
