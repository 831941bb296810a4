//! Which names a bucket has, page after page.

use std::collections::VecDeque;

use clap::Args;
use slotcast_job::{Glob, is_glob};
use slotcast_lab::InputError;
use slotcast_node::http::{NamesAnswer, ObjectAnswer};

use super::client::Client;
use super::place::{ObjectPlace, encoded};
use crate::failure::Failure;

/// How names of objects are read.
#[derive(Debug, Args)]
pub(crate) struct NameOption {
    /// Names are as they are written: `*`, `?` and `[` are letters like any other
    #[arg(long)]
    literal: bool,
}

impl NameOption {
    /// The pattern that a place is, if it is one.
    pub(super) fn glob(&self, place: &ObjectPlace) -> Option<Glob> {
        (!self.literal && is_glob(&place.name)).then(|| Glob::new(&place.name))
    }
}

/// Something in a listing.
#[derive(Debug)]
pub(crate) enum Listed {
    Object(ObjectAnswer),
    /// What several names begin with.
    Prefix(String),
}

/// All names that begin as `place` does, in the order of their bytes, with one page in memory.
pub(crate) struct Names<'a> {
    client: &'a Client,
    place: ObjectPlace,
    delimiter: Option<&'a str>,
    versions: bool,
    glob: Option<Glob>,
    page: VecDeque<Listed>,
    /// Where it goes on; none at the end.
    next: Option<String>,
    has_begun: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn new(client: &'a Client, place: &ObjectPlace) -> Names<'a> {
        Names {
            client,
            place: place.clone(),
            delimiter: None,
            versions: false,
            glob: None,
            page: VecDeque::new(),
            next: None,
            has_begun: false,
        }
    }

    /// One level, as of a folder, if that is so.
    pub(crate) fn one_level(mut self, is_so: bool) -> Names<'a> {
        self.delimiter = is_so.then_some("/");
        self
    }

    /// All versions, and markers of deletion, if that is so.
    pub(crate) fn with_versions(mut self, is_so: bool) -> Names<'a> {
        self.versions = is_so;
        self
    }

    /// Only those that a pattern matches.
    pub(crate) fn matching(mut self, glob: Option<Glob>) -> Names<'a> {
        if let Some(glob) = &glob {
            self.place.name = glob.prefix();
        }
        self.glob = glob;
        self
    }

    /// Objects alone.
    pub(crate) fn objects(self) -> impl Iterator<Item = Result<ObjectAnswer, Failure>> + Send {
        self.filter_map(|listed| match listed {
            Ok(Listed::Object(object)) => Some(Ok(object)),
            Ok(Listed::Prefix(_)) => None,
            Err(error) => Some(Err(error.into())),
        })
    }

    fn read_page(&mut self) -> Result<(), Box<InputError>> {
        let mut path =
            format!("/v2/{}?prefix={}", encoded(&self.place.bucket), encoded(&self.place.name));
        if let Some(delimiter) = self.delimiter {
            path += &format!("&delimiter={}", encoded(delimiter));
        }
        if self.versions {
            path += "&versions=true";
        }
        if let Some(next) = &self.next {
            path += &format!("&from={}", encoded(next));
        }
        let answer: NamesAnswer = self.client.get_json(&path)?;
        (self.has_begun, self.next) = (true, answer.next);
        let mut page: Vec<Listed> = answer.objects.into_iter().map(Listed::Object).collect();
        page.extend(answer.prefixes.into_iter().map(Listed::Prefix));
        // Versions of one name stay in their order.
        page.sort_by(|a, b| text_of(a).cmp(text_of(b)));
        if let Some(glob) = &self.glob {
            page.retain(|listed| glob.matches(text_of(listed)));
        }
        self.page = page.into();
        Ok(())
    }
}

fn text_of(listed: &Listed) -> &str {
    match listed {
        Listed::Object(object) => &object.name,
        Listed::Prefix(prefix) => prefix,
    }
}

impl Iterator for Names<'_> {
    type Item = Result<Listed, Box<InputError>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.page.is_empty() {
            if self.has_begun && self.next.is_none() {
                return None;
            }
            if let Err(error) = self.read_page() {
                (self.has_begun, self.next) = (true, None);
                return Some(Err(error));
            }
        }
        self.page.pop_front().map(Ok)
    }
}

/// All versions of one name, newest first.
pub(super) fn versions_of(
    client: &Client,
    place: &ObjectPlace,
) -> Result<Vec<ObjectAnswer>, Failure> {
    let all = Names::new(client, place).with_versions(true).objects();
    // A name comes before all others that begin as it does.
    all.take_while(|object| object.as_ref().map_or(true, |object| object.name == place.name))
        .collect()
}
