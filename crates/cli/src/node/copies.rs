//! Which copies are to be made, from what was named.

use std::fs;
use std::io;
use std::iter;
use std::path::{Component, Path, PathBuf};

use slotcast_lab::InputError;

use super::client::Client;
use super::names::{NameOption, Names};
use super::place::{ObjectPlace, Place};
use crate::failure::Failure;

/// One copy to be made.
#[derive(Debug)]
pub(super) enum Copy {
    /// Into a bucket.
    In(Place, ObjectPlace),
    /// Out of a bucket.
    Out(ObjectPlace, Place),
    /// Inside the store.
    Within(ObjectPlace, ObjectPlace),
}

/// Copies, one after another; those of a listing come as they are asked for.
pub(super) type Copies<'a> = Box<dyn Iterator<Item = Result<Copy, Failure>> + Send + 'a>;

pub(super) fn wrong<T>(message: String, help: &str) -> Result<T, Failure> {
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
    if !is_within || name.is_empty() || name.ends_with('/') || name.contains("//") {
        return wrong(
            format!("the object \"{name}\" has a name that is no path in `{}`", folder.display()),
            "copy it by itself, to a file that you name",
        );
    }
    Ok(folder.join(path))
}

/// Whether names below it are meant.
fn is_folder(to: &ObjectPlace) -> bool {
    to.name.is_empty() || to.name.ends_with('/')
}

/// Copies of files into a bucket.
pub(super) fn into_bucket(
    from: &[Place],
    to: &ObjectPlace,
    recursive: bool,
) -> Result<Vec<Copy>, Failure> {
    let mut copies = Vec::new();
    let below = |name: &str| to.named(format!("{}{name}", to.name));
    for place in from {
        match place {
            Place::File(path) if path.is_dir() && recursive => {
                let mut files = Vec::new();
                files_in(path, &mut files)?;
                let slash = if is_folder(to) { "" } else { "/" };
                for file in files {
                    let end = name_of(file.strip_prefix(path).unwrap_or(&file))?;
                    copies.push(Copy::In(Place::File(file), below(&format!("{slash}{end}"))));
                }
            }
            Place::File(path) if path.is_dir() => {
                let message = format!("`{}` is a folder", path.display());
                return wrong(message, "`slotcast cp -r` copies it with all in it");
            }
            Place::File(path) if is_folder(to) => {
                let end = name_of(Path::new(path.file_name().unwrap_or_default()))?;
                copies.push(Copy::In(place.clone(), below(&end)));
            }
            Place::Stream if is_folder(to) => {
                return wrong(
                    format!("`{to}` is no name"),
                    "say what standard input is to be called",
                );
            }
            Place::File(_) | Place::Stream if from.len() == 1 => {
                copies.push(Copy::In(place.clone(), to.clone()));
            }
            Place::File(_) | Place::Stream => {
                let message = format!("several files cannot all be `{to}`");
                return wrong(message, "a place that ends with `/` takes several");
            }
            Place::Object(object) => {
                let message = format!("`{object}` is in the store, and files are beside it");
                return wrong(message, "copy them one after another");
            }
        }
    }
    Ok(copies)
}

/// What a place in a bucket stands for.
enum Source<'a> {
    /// One object.
    One(ObjectPlace),
    /// Several, each with the end of its name that is kept.
    Several(Box<dyn Iterator<Item = Result<(ObjectPlace, String), Failure>> + Send + 'a>),
}

fn source<'a>(
    client: &'a Client,
    place: &ObjectPlace,
    recursive: bool,
    names: &NameOption,
) -> Result<Source<'a>, Failure> {
    let glob = names.glob(place);
    if glob.is_none() && !recursive {
        place.must_be_object()?;
        return Ok(Source::One(place.clone()));
    }
    let begin = glob.as_ref().map_or(place.name.clone(), slotcast_job::Glob::prefix);
    // As a folder is: with its own name, unless all in it is meant.
    let above = begin.rsplit_once('/').map_or(0, |(above, _)| above.len() + 1);
    let glob = glob.map(|glob| if recursive { glob.and_below() } else { glob });
    let (place, objects) = (place.clone(), Names::new(client, place).matching(glob).objects());
    Ok(Source::Several(Box::new(objects.map(move |object| {
        let name = object?.name;
        let end = name[above..].to_owned();
        Ok((place.named(name), end))
    }))))
}

/// One after another; what goes wrong before the first is told with it.
fn chained<'a>(parts: Vec<Copies<'a>>) -> Copies<'a> {
    Box::new(parts.into_iter().flatten())
}

/// Copies of objects to files.
pub(super) fn out_of_buckets<'a>(
    client: &'a Client,
    from: &[Place],
    to: &Place,
    recursive: bool,
    names: &NameOption,
) -> Result<Copies<'a>, Failure> {
    let mut parts: Vec<Copies<'a>> = Vec::new();
    for place in from {
        let Place::Object(object) = place else {
            return wrong(
                "neither place is in a bucket".into(),
                "write slot://bucket/name; `cp` of the system copies files",
            );
        };
        match (source(client, object, recursive, names)?, to) {
            (Source::Several(objects), Place::File(folder)) if recursive || folder.is_dir() => {
                let folder = folder.clone();
                parts.push(Box::new(objects.map(move |object| {
                    let (object, end) = object?;
                    let path = path_in(&folder, &end)?;
                    Ok(Copy::Out(object, Place::File(path)))
                })));
            }
            (Source::One(object), Place::File(folder)) if folder.is_dir() => {
                let last = object.name.rsplit('/').next().unwrap_or_default();
                let path = path_in(folder, last)?;
                parts.push(Box::new(iter::once(Ok(Copy::Out(object, Place::File(path))))));
            }
            (Source::One(object), to) if from.len() == 1 => {
                parts.push(Box::new(iter::once(Ok(Copy::Out(object, to.clone())))));
            }
            _ => {
                return wrong("several objects need a folder".into(), "make it, and name it last");
            }
        }
    }
    Ok(chained(parts))
}

/// Copies of objects to other names.
pub(super) fn within<'a>(
    client: &'a Client,
    from: &[ObjectPlace],
    to: &ObjectPlace,
    recursive: bool,
    names: &NameOption,
) -> Result<Copies<'a>, Failure> {
    let several = |place: &ObjectPlace| {
        let message = format!("several objects cannot all be `{to}`, as with `{place}`");
        wrong(message, "a place that ends with `/` takes several")
    };
    let mut parts: Vec<Copies<'a>> = Vec::new();
    for place in from {
        match source(client, place, recursive, names)? {
            Source::One(object) => {
                let mut name = to.name.clone();
                if is_folder(to) {
                    name += object.name.rsplit('/').next().unwrap_or_default();
                } else if from.len() > 1 {
                    return several(place);
                }
                let copy = Copy::Within(object, to.named(name));
                parts.push(Box::new(iter::once(Ok(copy))));
            }
            Source::Several(_) if !recursive && !is_folder(to) => return several(place),
            Source::Several(objects) => {
                let slash = if is_folder(to) { "" } else { "/" };
                let begin = to.named(format!("{}{slash}", to.name));
                let begins = names.glob(place).map_or(place.name.clone(), |glob| glob.prefix());
                // What is made on the way is not copied again.
                let objects = match begin.bucket == place.bucket && begin.name.starts_with(&begins)
                {
                    true => Box::new(objects.collect::<Vec<_>>().into_iter()),
                    false => objects,
                };
                parts.push(Box::new(objects.map(move |object| {
                    let (object, end) = object?;
                    Ok(Copy::Within(object, begin.named(format!("{}{end}", begin.name))))
                })));
            }
        }
    }
    Ok(chained(parts))
}
