//! The web page over HTTP.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use slotcast_page::{Asset, POLICY, asset};

use crate::conditional;
use crate::http::{App, Problem};

/// Whether a client takes an answer that is compressed with gzip.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let values = asked.get_all(header::ACCEPT_ENCODING).into_iter();
    let codings = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    codings.into_iter().any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_some_and(|q| q > 0.0)
    })
}

/// A file of the page. A browser keeps it, and asks each time whether it is the same: a node of another version has another.
fn file(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let text = |text: &'static str| HeaderValue::from_static(text);
    let tag = HeaderValue::from_str(&asset.tag).unwrap_or(text("\"\""));
    let headers = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, text("no-cache")),
        (header::VARY, text("accept-encoding")),
        (header::CONTENT_TYPE, text(asset.media_type)),
        (header::CONTENT_SECURITY_POLICY, text(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, text("nosniff")),
        (header::REFERRER_POLICY, text("no-referrer")),
        (header::X_FRAME_OPTIONS, text("DENY")),
    ];
    if conditional::is_known(asked, &asset.tag) {
        return (StatusCode::NOT_MODIFIED, headers, Body::empty()).into_response();
    }
    match takes_gzip(asked) {
        true => {
            let encoding = [(header::CONTENT_ENCODING, "gzip")];
            (headers, encoding, asset.gzip.as_slice()).into_response()
        }
        false => (headers, asset.bytes).into_response(),
    }
}

async fn index(asked: HeaderMap) -> Result<Response, Problem> {
    answer("/", &asked)
}

async fn part(Path(name): Path<String>, asked: HeaderMap) -> Result<Response, Problem> {
    answer(&format!("/page/{name}"), &asked)
}

fn answer(path: &str, asked: &HeaderMap) -> Result<Response, Problem> {
    let none = || Problem(StatusCode::NOT_FOUND, format!("the page has no file `{path}`"));
    asset(path).map(|asset| file(asset, asked)).ok_or_else(none)
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/", get(index)).route("/page/{name}", get(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        let takes = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            takes_gzip(&headers)
        };
        assert!(takes("gzip, deflate, br") && takes("br;q=1.0, GZIP;q=0.5"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("identity") && !takes("gzip;what"));
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn every_file_has_its_policy_and_is_sent_once() {
        for asset in slotcast_page::assets() {
            let response = file(asset, &HeaderMap::new());
            let headers = response.headers();
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(headers[header::CONTENT_SECURITY_POLICY], POLICY);
            let mut asked = HeaderMap::new();
            asked.insert(header::IF_NONE_MATCH, headers[header::ETAG].clone());
            assert_eq!(file(asset, &asked).status(), StatusCode::NOT_MODIFIED, "{}", asset.path);
        }
        assert!(answer("/page/../main.js", &HeaderMap::new()).is_err());
    }
}
