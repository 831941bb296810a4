//! Forms of browsers (`multipart/form-data`, RFC 7578) as they come: fields in memory, within bounds, and the file as a stream.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};

/// The most bytes of all that comes before the file, as AWS documents it.
const MAX_FIELDS: usize = 20 << 10;

/// Why a form cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormError {
    /// It has no boundary, or does not keep to it.
    #[error("the form is not multipart/form-data as RFC 7578 has it")]
    Malformed,
    /// There is too much before the file.
    #[error("the fields before the file have more than {MAX_FIELDS} bytes")]
    Long,
    /// It broke off.
    #[error("the form broke off: {0}")]
    BrokeOff(String),
}

/// The boundary that a Content-Type names.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let mut parameters = content_type.split(';').skip(1).map(str::trim);
    let found = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    });
    found.filter(|text| (1..=70).contains(&text.len())).map(str::to_owned)
}

/// The file of a form: its name, and what is said of its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileHead {
    pub(crate) name: String,
    pub(crate) content_type: Option<String>,
}

/// Fields with their values, names in small letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// The first value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..])
    }

    /// A field that is there twice. A policy could be about one of them, and the other be stored.
    pub(crate) fn repeated(&self) -> Option<&str> {
        let mut seen = std::collections::BTreeSet::new();
        let mut names = self.0.iter().map(|(name, _)| &name[..]);
        names.find(|name| !name.starts_with("x-ignore-") && !seen.insert(*name))
    }
}

/// A form, read up to the content of its file.
pub(crate) struct Form<S> {
    pub(crate) fields: Fields,
    /// None if there is no file in it.
    pub(crate) file: Option<FileHead>,
    reader: Reader<S>,
}

/// What a part of a form says of itself.
#[derive(Debug, Default)]
struct Head {
    name: String,
    file: Option<String>,
    content_type: Option<String>,
}

struct Reader<S> {
    content: S,
    buffer: BytesMut,
    /// What ends each part.
    delimiter: Vec<u8>,
    /// Nothing comes any more.
    is_over: bool,
}

/// Where it is first, from this place on.
fn find(bytes: &[u8], what: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let place = from + bytes.get(from..)?.iter().position(|byte| *byte == what[0])?;
        if bytes.get(place..place + what.len())? == what {
            return Some(place);
        }
        from = place + 1;
    }
}

impl<S, E> Reader<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    async fn more(&mut self) -> Result<(), FormError> {
        match self.content.next().await {
            Some(Ok(piece)) => self.buffer.extend_from_slice(&piece),
            Some(Err(error)) => return Err(FormError::BrokeOff(error.to_string())),
            None if self.is_over => return Err(FormError::BrokeOff("it has no end".into())),
            None => self.is_over = true,
        }
        Ok(())
    }

    /// All that comes before `what`, which is left out, and at most so many bytes.
    async fn until(&mut self, what: &[u8], most: usize) -> Result<Bytes, FormError> {
        let mut sought = 0;
        loop {
            if let Some(place) = find(&self.buffer, what, sought) {
                let before = self.buffer.split_to(place).freeze();
                let _ = self.buffer.split_to(what.len());
                return if before.len() > most { Err(FormError::Long) } else { Ok(before) };
            }
            if self.buffer.len() > most + what.len() {
                return Err(FormError::Long);
            }
            // What comes byte by byte is not sought through each time; it may have begun.
            sought = (self.buffer.len() + 1).saturating_sub(what.len());
            self.more().await?;
        }
    }

    /// Whether another part follows a delimiter.
    async fn has_next(&mut self) -> Result<bool, FormError> {
        while self.buffer.len() < 2 {
            self.more().await?;
        }
        match &self.buffer.split_to(2)[..] {
            b"\r\n" => Ok(true),
            b"--" => Ok(false),
            _ => Err(FormError::Malformed),
        }
    }

    /// A piece of the content of the part, none at its end.
    async fn piece(&mut self) -> Result<Option<Bytes>, FormError> {
        loop {
            if let Some(place) = find(&self.buffer, &self.delimiter, 0) {
                if place > 0 {
                    return Ok(Some(self.buffer.split_to(place).freeze()));
                }
                return Ok(None);
            }
            // What may be the beginning of a delimiter waits.
            let certain = self.buffer.len().saturating_sub(self.delimiter.len());
            if certain > 0 {
                return Ok(Some(self.buffer.split_to(certain).freeze()));
            }
            self.more().await?;
        }
    }
}

fn head_of(bytes: &[u8]) -> Result<Head, FormError> {
    let text = str::from_utf8(bytes).map_err(|_| FormError::Malformed)?;
    let mut head = Head::default();
    let mut is_named = false;
    for line in text.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-type") {
            head.content_type = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("content-disposition") {
            if let Some(name) = parameter(value, "name") {
                (head.name, is_named) = (name.to_lowercase(), true);
            }
            head.file = parameter(value, "filename");
        }
    }
    is_named.then_some(head).ok_or(FormError::Malformed)
}

/// A parameter of Content-Disposition, as browsers write it.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (text, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(';').unwrap_or(after.len())),
        };
        if name.trim_matches([' ', ';', '\t']).eq_ignore_ascii_case(wanted) {
            return Some(text.trim().replace("%22", "\""));
        }
        rest = next;
    }
}

impl<S, E> Form<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    /// Reads a form up to its file. What comes after that is not read, as AWS documents it.
    pub(crate) async fn read(boundary: &str, content: S) -> Result<Form<S>, FormError> {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first delimiter has no line before it.
        let buffer = BytesMut::from(&b"\r\n"[..]);
        let mut reader = Reader { content, buffer, delimiter, is_over: false };
        let delimiter = reader.delimiter.clone();
        let mut left = MAX_FIELDS;
        let mut fields = Vec::new();
        reader.until(&delimiter, left).await?;
        while reader.has_next().await? {
            // A part without headers begins with an empty line.
            let head = reader.until(b"\r\n\r\n", left).await?;
            left = left.checked_sub(head.len()).ok_or(FormError::Long)?;
            let head = head_of(&head)?;
            if head.name == "file" {
                let name = head.file.unwrap_or_default();
                // Some browsers send all of the path.
                let name = name.rsplit(['/', '\\']).next().unwrap_or("").to_owned();
                let file = Some(FileHead { name, content_type: head.content_type });
                return Ok(Form { fields: Fields(fields), file, reader });
            }
            let value = reader.until(&delimiter, left).await?;
            left = left.checked_sub(value.len()).ok_or(FormError::Long)?;
            let value = String::from_utf8(value.to_vec()).map_err(|_| FormError::Malformed)?;
            fields.push((head.name, value));
        }
        Ok(Form { fields: Fields(fields), file: None, reader })
    }

    /// The content of the file.
    pub(crate) fn content(self) -> impl Stream<Item = Result<Bytes, FormError>> {
        stream::unfold(Some(self.reader), async |reader| {
            let mut reader = reader?;
            match reader.piece().await {
                Ok(Some(piece)) => Some((Ok(piece), Some(reader))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    const FORM: &str = "--xyz\r\nContent-Disposition: form-data; name=\"Key\"\r\n\r\na/${filename}\r\n\
        --xyz\r\ncontent-disposition: form-data; name=\"empty\"\r\n\r\n\r\n\
        --xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\\\x\\\\b.txt\"\r\n\
        Content-Type: text/plain\r\n\r\nline\r\n--xy\r\n--no\r\n--xyz\r\n\
        Content-Disposition: form-data; name=\"later\"\r\n\r\nx\r\n--xyz--\r\n";

    async fn read(text: &str, size: usize) -> Result<(String, String), FormError> {
        let pieces: Vec<Result<Bytes, String>> =
            text.as_bytes().chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let form = Form::read("xyz", stream::iter(pieces)).await?;
        let said = format!("{:?} {:?}", form.fields.0, form.file);
        let content: Vec<Bytes> = Box::pin(form.content()).try_collect().await?;
        Ok((said, String::from_utf8(content.concat()).expect("text")))
    }

    #[tokio::test]
    async fn a_form_is_the_same_however_it_is_cut() {
        let whole = read(FORM, FORM.len()).await.expect("it is one");
        assert_eq!(whole.1, "line\r\n--xy\r\n--no");
        let said = "[(\"key\", \"a/${filename}\"), (\"empty\", \"\")] \
            Some(FileHead { name: \"b.txt\", content_type: Some(\"text/plain\") })";
        assert_eq!(whole.0, said);
        for size in 1..40 {
            assert_eq!(read(FORM, size).await.expect("it is one"), whole, "{size}");
        }
    }

    #[tokio::test]
    async fn what_is_no_form_or_too_long_is_refused() {
        let long = format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{}\r\n--xyz--\r\n",
            "x".repeat(MAX_FIELDS)
        );
        assert!(matches!(read(&long, 1000).await, Err(FormError::Long)));
        assert!(matches!(read("--xyzmore", 3).await, Err(FormError::Malformed)));
        assert!(matches!(read("", 3).await, Err(FormError::BrokeOff(_))));
        let cut = &FORM[..FORM.find("--no").expect("it is there")];
        assert!(matches!(read(cut, 7).await, Err(FormError::BrokeOff(_))));
    }

    #[test]
    fn boundaries_are_quoted_or_not() {
        assert_eq!(boundary("multipart/form-data; boundary=abc").as_deref(), Some("abc"));
        assert_eq!(boundary("multipart/form-data;Boundary=\"a b\"; x=y").as_deref(), Some("a b"));
        assert_eq!(boundary("multipart/form-data"), None);
    }
}
