//! Which names a bucket has, page after page.

use std::collections::VecDeque;

use slotcast_lab::InputError;
use slotcast_node::http::{NamesAnswer, ObjectAnswer};

use super::client::Client;
use super::place::{ObjectPlace, encoded};

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
    place: &'a ObjectPlace,
    delimiter: Option<&'a str>,
    page: VecDeque<Listed>,
    /// Where it goes on; none at the end.
    next: Option<String>,
    has_begun: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        client: &'a Client,
        place: &'a ObjectPlace,
        delimiter: Option<&'a str>,
    ) -> Names<'a> {
        Names { client, place, delimiter, page: VecDeque::new(), next: None, has_begun: false }
    }

    fn read_page(&mut self) -> Result<(), Box<InputError>> {
        let mut path =
            format!("/v2/{}?prefix={}", encoded(&self.place.bucket), encoded(&self.place.name));
        if let Some(delimiter) = self.delimiter {
            path += &format!("&delimiter={}", encoded(delimiter));
        }
        if let Some(next) = &self.next {
            path += &format!("&from={}", encoded(next));
        }
        let answer: NamesAnswer = self.client.get_json(&path)?;
        (self.has_begun, self.next) = (true, answer.next);
        let mut page: Vec<Listed> = answer.objects.into_iter().map(Listed::Object).collect();
        page.extend(answer.prefixes.into_iter().map(Listed::Prefix));
        page.sort_by(|a, b| text_of(a).cmp(text_of(b)));
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
