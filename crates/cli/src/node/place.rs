//! Places that content is copied from and to: `slot://bucket/name`, files, standard input and output.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use data_encoding::HEXUPPER;
use slotcast_lab::InputError;

/// What names of objects begin with.
const SCHEME: &str = "slot://";

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A name in a bucket, or what names there begin with; of the whole bucket it is empty.
    Object(ObjectPlace),
    /// A file or a folder.
    File(PathBuf),
    /// Standard input or output.
    Stream,
}

/// A name in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectPlace {
    pub(crate) bucket: String,
    pub(crate) name: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Object(object) => object.fmt(f),
            Place::File(path) => path.display().fmt(f),
            Place::Stream => f.write_str("-"),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        match text {
            "-" => Ok(Place::Stream),
            _ if text.starts_with(SCHEME) => text.parse().map(Place::Object),
            "" => Err("a file or slot://bucket/name is wanted".into()),
            _ => Ok(Place::File(text.into())),
        }
    }
}

impl FromStr for ObjectPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<ObjectPlace, String> {
        let wrong = || format!("`{text}` is no object: write slot://bucket/name");
        let rest = text.strip_prefix(SCHEME).ok_or_else(wrong)?;
        let (bucket, name) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong());
        }
        Ok(ObjectPlace { bucket: bucket.into(), name: name.into() })
    }
}

impl fmt::Display for ObjectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.bucket, self.name)
    }
}

impl ObjectPlace {
    /// The path of a request about it.
    pub(crate) fn path(&self) -> String {
        match self.name.as_str() {
            "" => format!("/v2/{}", encoded(&self.bucket)),
            name => format!("/v2/{}/{}", encoded(&self.bucket), encoded_path(name)),
        }
    }

    /// The path of a request about a version of it, or the latest.
    pub(crate) fn path_of(&self, version: Option<&str>) -> String {
        match version {
            Some(version) => format!("{}?version={}", self.path(), encoded(version)),
            None => self.path(),
        }
    }

    /// Refuses what is no name in a bucket.
    pub(crate) fn must_be_object(&self) -> Result<(), Box<InputError>> {
        if !self.name.is_empty() {
            return Ok(());
        }
        let help = "an object is slot://bucket/name";
        Err(InputError::plain(format!("`{self}` is a bucket")).with_help(Some(help.into())))
    }

    /// Refuses what is a name in a bucket.
    pub(crate) fn must_be_bucket(&self) -> Result<(), Box<InputError>> {
        if self.name.is_empty() {
            return Ok(());
        }
        let help = format!("the bucket is slot://{}", self.bucket);
        Err(InputError::plain(format!("`{self}` is a name in a bucket")).with_help(Some(help)))
    }

    /// Another name of the same bucket.
    pub(crate) fn named(&self, name: String) -> ObjectPlace {
        ObjectPlace { bucket: self.bucket.clone(), name }
    }
}

/// As a part of a URL (RFC 3986, 2.3).
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'.' => {
                out.push(char::from(byte));
            }
            _ => {
                out.push('%');
                out.push_str(&HEXUPPER.encode(&[byte]));
            }
        }
    }
    out
}

/// As a path of a URL: a name like `..` is no way up.
fn encoded_path(name: &str) -> String {
    let parts = name.split('/').map(|part| match part {
        "." | ".." => part.replace('.', "%2E"),
        part => encoded(part),
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bucket: &str, name: &str) -> ObjectPlace {
        ObjectPlace { bucket: bucket.into(), name: name.into() }
    }

    #[test]
    fn places_are_told_apart() {
        assert_eq!("-".parse(), Ok(Place::Stream));
        assert_eq!("a/b".parse(), Ok(Place::File("a/b".into())));
        assert_eq!("slot://b/n/m".parse(), Ok(Place::Object(object("b", "n/m"))));
        assert_eq!("slot://b".parse(), Ok(Place::Object(object("b", ""))));
        assert!("slot://".parse::<Place>().is_err() && "slot:///n".parse::<Place>().is_err());
    }

    #[test]
    fn names_are_not_changed_on_their_way() {
        assert_eq!(object("b", "a b/ü?#%").path(), "/v2/b/a%20b/%C3%BC%3F%23%25");
        assert_eq!(object("b", "../x/.").path(), "/v2/b/%2E%2E/x/%2E");
    }
}
