//! Makes one copy: into the store, out of it, inside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use serde_json::json;
use slotcast_lab::InputError;
use slotcast_node::http::{ObjectDescription, StoredAnswer};
use ureq::http::HeaderValue;

use super::client::{Client, NodeOption, new_key};
use super::copies::{Copies, Copy, wrong};
use super::get::{broken, copy, to_file};
use super::many::AtATime;
use super::place::{ObjectPlace, Place, encoded};
use super::put::{Counted, Source};
use super::rm;
use super::tag::pair;
use super::verified::{Verified, address_of, expected_of, is_encrypted};
use crate::failure::{Failure, Outcome};
use crate::output::print;
use crate::progress::Bar;

/// What must hold of the name that is copied to.
#[derive(Debug, Args)]
pub(super) struct Conditions {
    /// Only if the name stands for no object: of many who try at the same time one succeeds
    #[arg(long, conflicts_with = "if_version")]
    if_absent: bool,

    /// Only if the name stands for this version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<String>,
}

impl Conditions {
    fn headers<B>(&self, mut request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        if self.if_absent {
            request = request.header("if-none-match", "*");
        }
        if let Some(version) = &self.if_version {
            request = request.header("if-match", format!("\"{version}\""));
        }
        request
    }
}

/// What is said of files that come into the store.
#[derive(Debug, Args)]
pub(super) struct Said {
    /// The media type
    #[arg(long = "type", value_name = "TYPE")]
    media_type: Option<String>,

    /// Metadata, kept with the object for good; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    meta: Vec<(String, String)>,

    /// A tag; may be repeated. `slotcast tag` changes it later
    #[arg(long, value_name = "TAG=VALUE", value_parser = pair)]
    tag: Vec<(String, String)>,
}

impl Said {
    pub(super) fn is_empty(&self) -> bool {
        self.media_type.is_none() && self.meta.is_empty() && self.tag.is_empty()
    }

    /// Whether all that was asked for is said of an object already.
    fn holds_of(&self, object: &ObjectDescription) -> bool {
        let meta = |(name, text): &(String, String)| {
            object.metadata.get(&name.to_ascii_lowercase()) == Some(text)
        };
        let tag = |(name, text): &(String, String)| object.tags.get(name) == Some(text);
        (self.media_type.is_none() || self.media_type == object.media_type)
            && self.meta.iter().all(meta)
            && self.tag.iter().all(tag)
    }

    fn headers<B>(
        &self,
        mut request: ureq::RequestBuilder<B>,
    ) -> Result<ureq::RequestBuilder<B>, Failure> {
        let value = |text: &str| {
            let wrong = |_| InputError::plain(format!("`{text}` cannot be sent as metadata"));
            HeaderValue::from_bytes(text.as_bytes()).map_err(wrong)
        };
        if let Some(text) = &self.media_type {
            request = request.header("content-type", value(text)?);
        }
        for (name, text) in &self.meta {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if !name.chars().all(is_token) {
                let message = format!("metadata cannot be called `{name}`");
                return wrong(message, "names are of letters, digits, `-`, `_` and `.`");
            }
            request = request.header(format!("slotcast-meta-{name}"), value(text)?);
        }
        if !self.tag.is_empty() {
            let pair =
                |(key, text): &(String, String)| format!("{}={}", encoded(key), encoded(text));
            let tags: Vec<String> = self.tag.iter().map(pair).collect();
            request = request.header("slotcast-tags", tags.join("&"));
        }
        Ok(request)
    }
}

/// Objects and their bytes, so far.
#[derive(Debug, Default)]
struct Totals {
    copied: AtomicU64,
    bytes: AtomicU64,
    there: AtomicU64,
    bytes_there: AtomicU64,
}

impl Totals {
    fn text(&self, done: &str) -> String {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut text = format!("{} {done}, {} bytes", of(&self.copied), of(&self.bytes));
        if of(&self.there) > 0 {
            let (there, bytes) = (of(&self.there), of(&self.bytes_there));
            text += &format!("; {there} had the same content already, {bytes} bytes");
        }
        text
    }

    fn is_empty(&self) -> bool {
        [&self.copied, &self.there].iter().all(|count| count.load(Ordering::Relaxed) == 0)
    }
}

/// What a copy has become.
struct Done {
    bytes: u64,
    /// Its version, in the store.
    version: Option<String>,
    was_there: bool,
}

impl Done {
    fn there(bytes: u64, version: Option<String>) -> Done {
        Done { bytes, version, was_there: true }
    }
}

/// How copies are made.
pub(super) struct Transfer<'a> {
    pub(super) conditions: &'a Conditions,
    pub(super) said: Option<&'a Said>,
    /// The version that is copied, if not the latest.
    pub(super) version: Option<&'a str>,
    /// What has the same content already is passed over.
    pub(super) resume: bool,
    /// What was copied inside the store is deleted.
    pub(super) moves: bool,
    /// A line of JSON for each.
    pub(super) json: bool,
}

impl Transfer<'_> {
    /// Makes all of these copies, many at a time. Says in the end how many were `done`, in words, if that is wanted and
    /// each was not told as JSON, and then what went wrong.
    pub(super) fn make_all(
        &self,
        (at_a_time, node): (&AtATime, &NodeOption),
        copies: Copies<'_>,
        done: Option<&str>,
    ) -> Outcome {
        let (bar, totals) = (Bar::new(0), Totals::default());
        let making = Making { how: self, bar: &bar, totals: &totals };
        let ended = at_a_time.each(node, copies, |client, copy| making.make(client, &copy));
        bar.finish();
        if ended.is_ok() && totals.is_empty() {
            return wrong("there is nothing to copy".into(), "look with `slotcast ls`");
        }
        if let Some(done) = done.filter(|_| !self.json && !totals.is_empty()) {
            print(&format!("{}\n", totals.text(done)))?;
        }
        ended.map(|()| ExitCode::SUCCESS)
    }
}

/// Copies while they are made.
struct Making<'a> {
    how: &'a Transfer<'a>,
    bar: &'a Bar,
    totals: &'a Totals,
}

impl Making<'_> {
    /// Makes one copy.
    fn make(&self, client: &Client, what: &Copy) -> Result<(), Failure> {
        let (done, from, to) = match what {
            Copy::In(from, to) => {
                (self.copy_in(client, from, to)?, from.to_string(), to.to_string())
            }
            Copy::Out(from, to) => {
                (self.copy_out(client, from, to)?, from.to_string(), to.to_string())
            }
            Copy::Within(from, to) => {
                (self.copy_within(client, from, to)?, from.to_string(), to.to_string())
            }
        };
        let Done { bytes, version, was_there } = done;
        let Totals { copied, bytes: bytes_copied, there, bytes_there } = self.totals;
        let (count, sum) = if was_there { (there, bytes_there) } else { (copied, bytes_copied) };
        count.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(bytes, Ordering::Relaxed);
        if self.how.json {
            let line = json!({
                "from": from, "to": to, "bytes": bytes, "version": version, "was_there": was_there,
            });
            print(&format!("{line}\n"))?;
        }
        Ok(())
    }

    fn copy_in(&self, client: &Client, from: &Place, to: &ObjectPlace) -> Result<Done, Failure> {
        let (path, shown) = match from {
            Place::File(path) => (path.clone(), format!("`{}`", path.display())),
            _ => (PathBuf::from("-"), "standard input".into()),
        };
        let failed = |error: &dyn std::fmt::Display| {
            InputError::plain(format!("cannot copy {shown}: {error}"))
        };
        let mut source = Source::open(&path).map_err(|error| failed(&error))?;
        let length = source.length();
        if self.how.resume
            && let Place::File(path) = from
            && let Some(there) = client.described(to, None)?
            && self.how.said.is_none_or(|said| said.holds_of(&there))
            && is_same(path, &there).map_err(|error| failed(&error))?
        {
            return Ok(Done::there(there.size, Some(there.version)));
        }
        self.bar.expect(length);
        let is_cut = client.is_cut();
        is_cut.store(false, Ordering::Relaxed);
        let mut hashed = Verified::new(&mut source, None);
        let mut content = Counted { inner: &mut hashed, bar: self.bar, is_cut, length: 0 };
        let mut request = client
            .agent()
            .put(client.url(&to.path()))
            .header("expect", "100-continue")
            .header("idempotency-key", new_key()?);
        request = self.how.conditions.headers(request);
        if let Some(said) = self.how.said {
            request = said.headers(request)?;
        }
        if length > 0 {
            request = request.header("content-length", length.to_string());
        }
        let answer = client.checked(request.send(ureq::SendBody::from_reader(&mut content)));
        let read = content.length;
        let address = hashed.address();
        let answer: StoredAnswer = client.read_json(answer?)?;
        if source.has_changed(read).map_err(|error| failed(&error))? || answer.size != read {
            let help = format!("{to} may be what was never in it");
            return wrong(format!("{shown} changed while it was copied"), &help);
        }
        // The address of what is encrypted is not that of what was read.
        if answer.encryption.is_none() && answer.content != address {
            let message = format!("{to} is not what was read from {shown}");
            let help = format!("it is {}, and {address} was sent", answer.content);
            return wrong(message, &help);
        }
        Ok(Done { bytes: read, version: Some(answer.version), was_there: false })
    }

    fn copy_out(&self, client: &Client, from: &ObjectPlace, to: &Place) -> Result<Done, Failure> {
        if self.how.resume
            && let Place::File(path) = to
            && path.is_file()
            && let Some(there) = client.described(from, self.how.version)?
        {
            let failed =
                |error| InputError::plain(format!("cannot read `{}`: {error}", path.display()));
            if is_same(path, &there).map_err(failed)? {
                return Ok(Done::there(there.size, Some(there.version)));
            }
        }
        let mut answer = client.get(&from.path_of(self.how.version))?;
        let length = answer.body().content_length();
        let version = answer.headers().get("etag").and_then(|tag| tag.to_str().ok());
        let version = version.map(|tag| tag.trim_matches('"').to_owned());
        let expected = expected_of(&answer);
        // The node looks whether what is encrypted is as it was.
        if expected.is_none() && !is_encrypted(&answer) {
            return wrong(
                format!("the node does not say what {from} is"),
                "is it of this version?",
            );
        }
        self.bar.expect(length.unwrap_or(0));
        let mut content = Verified::new(answer.body_mut().as_reader(), expected);
        match to {
            Place::File(path) => {
                if let Some(folder) = path.parent() {
                    let failed = |error| Failure::Output(format!("`{}`", folder.display()), error);
                    fs::create_dir_all(folder).map_err(failed)?;
                }
                to_file(path, &mut content, length, self.bar)?;
            }
            _ => {
                let copied = copy(&mut content, &mut io::stdout().lock(), length, self.bar);
                copied.map_err(|error| broken("standard output", error))?;
            }
        }
        Ok(Done { bytes: length.unwrap_or(0), version, was_there: false })
    }

    fn copy_within(
        &self,
        client: &Client,
        from: &ObjectPlace,
        to: &ObjectPlace,
    ) -> Result<Done, Failure> {
        if from == to && self.how.version.is_none() {
            return wrong(format!("`{from}` is both source and target"), "name another place");
        }
        let (done, copied) = match self.same_within(client, from, to)? {
            Some((there, source)) => (Done::there(there.size, Some(there.version)), source),
            None => self.refer(client, from, to)?,
        };
        if self.how.moves {
            // Only what was copied: what somebody has put there meanwhile is not lost.
            rm::delete(client, from, None, Some(&copied)).map_err(|error| {
                let message = format!("{to} is there, and {from} was not deleted: {error}");
                let help = "if it was changed meanwhile, move it again";
                InputError::plain(message).with_help(Some(help.into()))
            })?;
        }
        Ok(done)
    }

    /// What is there with the same content already, and the version of the source; none if that is not to be so.
    fn same_within(
        &self,
        client: &Client,
        from: &ObjectPlace,
        to: &ObjectPlace,
    ) -> Result<Option<(ObjectDescription, String)>, Failure> {
        if !self.how.resume {
            return Ok(None);
        }
        let Some(there) = client.described(to, None)? else { return Ok(None) };
        let source = client.described(from, self.how.version)?;
        let is_same = |source: &ObjectDescription| {
            let said = |of: &ObjectDescription| {
                (of.media_type.clone(), of.headers.clone(), of.metadata.clone(), of.tags.clone())
            };
            (source.size, &source.content) == (there.size, &there.content)
                && said(source) == said(&there)
        };
        Ok(source.filter(is_same).map(|source| (there, source.version)))
    }

    /// Has the node put the same content under another name. Gives the version that was copied.
    fn refer(
        &self,
        client: &Client,
        from: &ObjectPlace,
        to: &ObjectPlace,
    ) -> Result<(Done, String), Failure> {
        let source = encoded(&format!("{}/{}", from.bucket, from.name));
        let version = self.how.version.map(|version| format!("&from_version={}", encoded(version)));
        let path = format!("{}?from={source}{}", to.path(), version.unwrap_or_default());
        let request = client.agent().put(client.url(&path)).header("idempotency-key", new_key()?);
        let answer = client.checked(self.how.conditions.headers(request).send_empty())?;
        let answer: StoredAnswer = client.read_json(answer)?;
        let copied = answer.from_version.unwrap_or_default();
        let done = Done { bytes: answer.size, version: Some(answer.version), was_there: false };
        Ok((done, copied))
    }
}

/// Whether a file has the content of an object: as many bytes, and the same hash.
fn is_same(path: &Path, object: &ObjectDescription) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    Ok(metadata.is_file() && metadata.len() == object.size && address_of(path)? == object.content)
}
