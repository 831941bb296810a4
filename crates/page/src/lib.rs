//! The web page of a node: the files in `assets`, as they are written, within the binary.
//!
//! Nothing builds them. A browser loads modules of JavaScript as they are, and needs no other site: no script, font or
//! picture comes from elsewhere, and [`POLICY`] lets none come. Together they are less than 200 KB.

use std::io::Write;
use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The Content-Security-Policy of the page: only its own files, requests to its own node, and no text that becomes HTML.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the page.
#[derive(Debug)]
pub struct Asset {
    /// Where a browser asks for it.
    pub path: &'static str,
    /// As in `Content-Type`.
    pub media_type: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
    /// The same compressed, as in `Content-Encoding: gzip`.
    pub gzip: Vec<u8>,
    /// A hash of it, in quotes, as in `ETag`.
    pub tag: String,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A row of a path, a media type and the content of a file.
macro_rules! file {
    ($media_type:expr, $name:literal) => {
        file!($media_type, $name, concat!("/page/", $name))
    };
    ($media_type:expr, $name:literal, $path:expr) => {
        ($path, $media_type, include_bytes!(concat!("../assets/", $name)))
    };
}

const FILES: &[(&str, &str, &[u8])] = &[
    file!(HTML, "index.html", "/"),
    file!(SVG, "icon.svg"),
    file!(CSS, "base.css"),
    file!(CSS, "views.css"),
    file!(SCRIPT, "theme.js"),
    file!(SCRIPT, "main.js"),
    file!(SCRIPT, "dom.js"),
    file!(SCRIPT, "format.js"),
    file!(SCRIPT, "http.js"),
    file!(SCRIPT, "login.js"),
    file!(SCRIPT, "status.js"),
    file!(SCRIPT, "health.js"),
    file!(SCRIPT, "overview.js"),
    file!(SCRIPT, "targets.js"),
    file!(SCRIPT, "windows.js"),
    file!(SCRIPT, "picture.js"),
    file!(SCRIPT, "timeline.js"),
    file!(SCRIPT, "buckets.js"),
    file!(SCRIPT, "objects.js"),
    file!(SCRIPT, "uploads.js"),
    file!(SCRIPT, "jobs.js"),
    file!(SCRIPT, "garbage.js"),
    file!(SCRIPT, "cluster.js"),
    file!(SCRIPT, "users.js"),
];

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Compressed when the first of them is asked for: a node that nobody looks at does not pay for it.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |&(path, media_type, bytes): &(&'static str, &'static str, &'static [u8])| Asset {
        path,
        media_type,
        bytes,
        gzip: compressed(bytes),
        tag: format!("\"{}\"", HEXLOWER.encode(&blake3::hash(bytes).as_bytes()[..16])),
    };
    FILES.iter().map(asset).collect()
});

/// The file at a path, if the page has it.
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// All files, in the order in which a browser meets them.
pub fn assets() -> &'static [Asset] {
    &ASSETS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read;

    use super::*;

    fn text(asset: &Asset) -> &str {
        std::str::from_utf8(asset.bytes).expect("the page is text")
    }

    #[test]
    fn the_page_is_small() {
        let bytes: usize = assets().iter().map(|asset| asset.bytes.len()).sum();
        assert!(bytes < 200_000, "{bytes} bytes");
    }

    #[test]
    fn what_is_compressed_is_the_same() {
        for asset in assets() {
            let mut bytes = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(&asset.gzip[..]);
            decoder.read_to_end(&mut bytes).expect("it was compressed here");
            assert_eq!(bytes, asset.bytes, "{}", asset.path);
        }
    }

    #[test]
    fn files_of_different_content_have_different_tags() {
        let tags: BTreeSet<&str> = assets().iter().map(|asset| asset.tag.as_str()).collect();
        assert_eq!(tags.len(), assets().len());
    }

    /// The modules that a script imports, as it names them.
    fn imported(text: &str) -> impl Iterator<Item = &str> {
        let after = |start: &'static str| {
            text.split(start).skip(1).filter_map(|rest| rest.split('\'').next())
        };
        after("from '").chain(after("import '")).chain(after("import('"))
    }

    #[test]
    fn what_a_file_needs_is_a_file_of_the_page() {
        let mut modules = 0;
        for asset in assets().iter().filter(|asset| asset.media_type == SCRIPT) {
            for module in imported(text(asset)) {
                let name = module.strip_prefix("./").expect("modules are named by their place");
                let path = format!("/page/{name}");
                assert!(super::asset(&path).is_some(), "{} needs {path}", asset.path);
                modules += 1;
            }
        }
        assert!(modules > 20, "only {modules} imports were found");
        let index = text(asset("/").expect("a page"));
        let links = index.split('"').filter(|part| part.starts_with("/page/"));
        assert!(links.map(|path| assert!(asset(path).is_some(), "{path}")).count() > 3);
    }

    #[test]
    fn no_file_names_another_site() {
        for asset in assets() {
            let text = text(asset).replace("http://www.w3.org/2000/svg", "");
            for scheme in ["http://", "https://", "ws://", "wss://"] {
                // What follows in quotes is no site: a command that is shown, or a scheme that is looked for.
                let sites = text.split(scheme).skip(1);
                let named = sites.filter(|rest| rest.starts_with(char::is_alphanumeric)).count();
                assert_eq!(named, 0, "{} names a site", asset.path);
            }
        }
    }

    /// Scripts of the policy are files: none stands in the page, nor is made of text.
    #[test]
    fn no_file_needs_what_the_policy_forbids() {
        for asset in assets() {
            let text = text(asset);
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "new Function",
                " style=\"",
                " onclick=\"",
            ] {
                assert!(!text.contains(word), "{} has {word}", asset.path);
            }
        }
    }
}
