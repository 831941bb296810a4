//! What a request passes first, and an answer last.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use slotcast_node::access::{Access, Peer};
use slotcast_node::audit::AuditSlot;
use slotcast_node::http::{Courtesy, Gateway as Served};
use slotcast_node::{NewBucket, ObjectError, Objects, new_key};
use slotcast_object::{Name, Versioning};
use tokio::sync::watch;

use crate::access::Gate;
use crate::buckets::OWNER;
use crate::cors::Asked;
use crate::encryption::hide_keys;
use crate::gateway::Gateway;
use crate::hosts::Domains;
use crate::notification::RequestNumber;
use crate::post::Posted;
use crate::{chunks, cors, post};

/// A presigned URL is good for seven days at most, as AWS documents it.
const MAX_EXPIRES: u64 = 7 * 24 * 3600;

/// How requests are signed.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What forms are.
const FORM: &str = "multipart/form-data";

/// The most bytes of a request in XML. That which completes an upload of 10,000 parts with checksums has 3 MB.
const MAX_XML: usize = 4 << 20;

/// How long requests wait for the first bucket to be made.
const FIRST_BUCKET: Duration = Duration::from_secs(5);

/// How long is waited before it is tried again to make the first bucket.
const PAUSE: Duration = Duration::from_millis(200);

/// How S3 is served.
#[derive(Debug, Clone, Default)]
pub struct GatewayConfig {
    /// A bucket that is made if it is not there.
    pub bucket: Option<Name>,
    /// Domains below which each name is a bucket: in `photos.s3.example.org` it is `photos`.
    pub domains: Vec<String>,
}

/// Serves S3 on `listener`.
pub fn gateway(listener: TcpListener, config: GatewayConfig) -> Served {
    let courtesy =
        Courtesy { protocol: "s3", is_question: |_| false, refusal, late_header: LATE_HEADER };
    let router = move |objects: Objects, access: Access| router(objects, access, config);
    Served { listener, router: Box::new(router), courtesy }
}

/// What answers requests. Clones are the same.
#[derive(Clone)]
struct Door {
    service: S3Service,
    gateway: Gateway,
    domains: Domains,
    /// Whether the first bucket is made.
    is_made: watch::Receiver<bool>,
}

fn router(objects: Objects, access: Access, config: GatewayConfig) -> Router {
    let GatewayConfig { bucket, domains } = config;
    let (made, is_made) = watch::channel(bucket.is_none());
    if let Some(bucket) = bucket {
        tokio::spawn(make_first(objects.clone(), bucket, made));
    }
    let (gateway, domains) = (Gateway::new(objects, access.clone()), Domains::new(&domains));
    let mut builder = S3ServiceBuilder::new(gateway.clone());
    builder.set_auth(Gate(access.clone()));
    builder.set_access(Gate(access));
    if !domains.is_empty() {
        builder.set_host(domains.clone());
    }
    let mut config = S3Config::default();
    config.xml_max_body_size = MAX_XML;
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    let door = Door { service: builder.build(), gateway, domains, is_made };
    Router::new().fallback(move |request| answer(door.clone(), request))
}

/// Makes the bucket that the environment names, as soon as the cluster can.
async fn make_first(objects: Objects, bucket: Name, made: watch::Sender<bool>) {
    loop {
        let Ok(key) = new_key() else { return };
        match objects.make_bucket(&bucket, key, NewBucket::from(Versioning::Off)).await {
            Ok(_) | Err(ObjectError::BucketExists(_)) => break,
            Err(ObjectError::Names(error)) => {
                tracing::debug!(%bucket, %error, "the first bucket is not made yet");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => {
                tracing::warn!(%bucket, %error, "the first bucket cannot be made");
                break;
            }
        }
    }
    made.send_replace(true);
}

async fn answer(mut door: Door, mut request: Request) -> Response {
    let id = new_key().map_or(0, |key| key.0);
    hide_keys(request.headers_mut());
    if let Err(error) = check(request.uri(), request.headers()) {
        return with_id(of_error(error), id);
    }
    if !*door.is_made.borrow() {
        let _ = tokio::time::timeout(FIRST_BUCKET, door.is_made.wait_for(|made| *made)).await;
    }
    let expects = request.headers().contains_key(header::EXPECT);
    let is_empty = request.body().is_end_stream();
    let (bucket, key) = door.domains.place(request.uri(), request.headers());
    let asked = Asked::of(request.method(), request.headers());
    let form = is_form(request.method(), request.headers());
    let is_xml = form.is_none() && is_xml(request.method(), key.is_some(), request.uri());
    if is_xml && let Err(error) = check_length(request.headers()) {
        return with_id(of_error(error), id);
    }
    let mut answer = if request.method() == Method::OPTIONS {
        let preflight = cors::preflight(&door.gateway, bucket.as_deref(), request.headers()).await;
        return with_id(preflight.map_or_else(of_error, IntoResponse::into_response), id);
    } else if let (Some(content_type), Some(bucket), None) = (form, &bucket, key) {
        let parts = (bucket.clone(), content_type);
        post_form(&door.gateway, parts, (request, id)).await.unwrap_or_else(of_error)
    } else {
        request.extensions_mut().insert(RequestNumber(number_of(id)));
        serve(&door.service, request).await
    };
    if let (Some(asked), Some(bucket)) = (asked, bucket) {
        let rules = cors::rules(&door.gateway, &bucket).await;
        answer.headers_mut().extend(asked.answer(&rules, false).unwrap_or_default());
    }
    // botocore takes an answer that comes without a "100 Continue" before it for that of all requests to come on this
    // connection, and waits for others in vain: such a connection is not used again.
    if expects && (is_empty || !answer.status().is_success()) {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    with_id(answer, id)
}

/// The answer of the library.
async fn serve(service: &S3Service, request: Request) -> Response {
    let hash = request.headers().get("x-amz-content-sha256").and_then(|hash| hash.to_str().ok());
    let in_chunks = hash.and_then(chunks::is_signed);
    let request = request.map(|body| match in_chunks {
        Some(is_signed) => {
            let content = chunks::cut(is_signed, body.into_data_stream());
            s3s::Body::http_body_unsync(Body::from_stream(content))
        }
        None => s3s::Body::http_body_unsync(body),
    });
    match service.call(request).await {
        Ok(answer) => answer.map(Body::new),
        // It could not even say what is wrong.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The Content-Type of a form, if a request has one. The library would believe it of any of several, whatever bytes it has.
fn is_form(method: &Method, headers: &HeaderMap) -> Option<String> {
    let is_it = |kind: &&HeaderValue| {
        let begin = kind.as_bytes().get(..FORM.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(FORM.as_bytes()))
    };
    let kind = headers.get_all(header::CONTENT_TYPE).iter().find(is_it)?;
    (method == Method::POST).then(|| String::from_utf8_lossy(kind.as_bytes()).into_owned())
}

async fn post_form(
    gateway: &Gateway,
    (bucket, content_type): (String, String),
    (mut request, id): (Request, u128),
) -> S3Result<Response> {
    let peer = request.extensions().get::<Peer>().copied();
    let audit = request.extensions_mut().remove::<AuditSlot>();
    let (content, number) = (request.into_body().into_data_stream(), number_of(id));
    post::post(gateway, Posted { bucket, content_type, peer, audit, number, content }).await
}

/// What a request is called in its answer.
fn number_of(id: u128) -> String {
    format!("{:016X}", id >> 64)
}

/// With headers that tell this request from all others: people quote them when they ask for help.
fn with_id(mut response: Response, id: u128) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        ("x-amz-request-id", number_of(id)),
        ("x-amz-id-2", format!("{id:032x}")),
        ("server", "slotcast".to_owned()),
    ] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response
}

fn of_error(error: S3Error) -> Response {
    error.to_http_response().map_or_else(
        |_| StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        |response| response.map(Body::new),
    )
}

/// What a PUT with one of these in its query says of an object is XML, and no content.
const OF_OBJECTS: [&str; 4] = ["acl", "legal-hold", "retention", "tagging"];

/// Whether the body of a request is a document, and not the content of an object. (A form is neither, and is read elsewhere.)
fn is_xml(method: &Method, has_key: bool, uri: &Uri) -> bool {
    let pairs = uri.query().unwrap_or("").split('&');
    let mut names = pairs.map(|pair| pair.split('=').next().unwrap_or(pair));
    match *method {
        Method::POST => uri.query().is_some(),
        Method::PUT => !has_key || names.any(|name| OF_OBJECTS.contains(&name)),
        _ => false,
    }
}

/// Refuses a document that is too long before any of it is read: where its hash is checked first, the library would say that
/// the server has failed.
fn check_length(headers: &HeaderMap) -> S3Result<()> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length > MAX_XML => Err(s3_error!(
            MaxMessageLengthExceeded,
            "Your request was too big: it has {length} bytes, and at most {MAX_XML} are read"
        )),
        _ => Ok(()),
    }
}

/// Refuses what `s3s` would take, or would have to have in memory.
fn check(uri: &Uri, headers: &HeaderMap) -> S3Result<()> {
    let authorization = authorization(headers)?;
    let query: Vec<(String, String)> =
        serde_urlencoded::from_str(uri.query().unwrap_or("")).unwrap_or_default();
    let get = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| &value[..]);
    let is_v2 = authorization.is_some_and(|value| value.starts_with("AWS "))
        || (get("Signature").is_some() && get("AWSAccessKeyId").is_some());
    if is_v2 {
        return Err(s3_error!(
            InvalidRequest,
            "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
        ));
    }
    match authorization {
        Some("") => {
            return Err(s3_error!(
                AccessDenied,
                "Access Denied: the Authorization header is empty"
            ));
        }
        Some(text) if text.split_ascii_whitespace().next() != Some(ALGORITHM) => {
            return Err(s3_error!(InvalidArgument, "Unsupported Authorization Type"));
        }
        _ => {}
    }
    let expected = headers.get("x-amz-expected-bucket-owner");
    if expected.is_some_and(|owner| owner.as_bytes() != OWNER.as_bytes()) {
        return Err(s3_error!(AccessDenied, "Access Denied: the bucket belongs to somebody else"));
    }
    if let Some(expires) = get("X-Amz-Expires") {
        match expires.parse::<u64>() {
            Ok(1..=MAX_EXPIRES) => {}
            _ => return Err(query_error("X-Amz-Expires must be from 1 to 604800 seconds")),
        }
    }
    if get("X-Amz-Signature").is_some() {
        let signed = get("X-Amz-SignedHeaders").unwrap_or("");
        if !signed.split(';').any(|name| name == "host") {
            return Err(query_error("X-Amz-SignedHeaders must include host"));
        }
        if authorization.is_some() {
            return Err(s3_error!(
                InvalidArgument,
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified"
            ));
        }
        check_signed(headers, signed)?;
    } else if let Some((_, rest)) =
        authorization.and_then(|text| text.rsplit_once("SignedHeaders="))
    {
        check_signed(headers, rest.split(',').next().unwrap_or("").trim())?;
    }
    Ok(())
}

/// The only Authorization of a request, if it has one. The library would read one of several, and of what is no text.
fn authorization(headers: &HeaderMap) -> S3Result<Option<&str>> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let wrong = || s3_error!(InvalidArgument, "A request has one Authorization header, in ASCII");
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => one.to_str().map(Some).map_err(|_| wrong()),
        (Some(_), Some(_)) => Err(wrong()),
    }
}

/// Refuses headers that whoever has signed a request does not know of: they would make a copy of a put, or bypass a lock.
fn check_signed(headers: &HeaderMap, signed: &str) -> S3Result<()> {
    // The library looks for them as they are written, and signs none that it does not find.
    let is_signed = |name: &str| signed.split(';').any(|known| known == name);
    // The time is in what is signed, and so is the hash of the content, unless it is presigned: then it changes nothing.
    let free = ["x-amz-content-sha256", "x-amz-date"];
    let is_free = |name: &str| !name.starts_with("x-amz-") || free.contains(&name);
    match headers.keys().map(HeaderName::as_str).all(|name| is_free(name) || is_signed(name)) {
        true => Ok(()),
        false => Err(s3_error!(
            AccessDenied,
            "There were headers present in the request which were not signed"
        )),
    }
}

fn query_error(message: &'static str) -> S3Error {
    S3Error::with_message(S3ErrorCode::AuthorizationQueryParametersError, message)
}

/// What is answered where too many requests are under way.
fn refusal() -> Response {
    let mut response = of_error(s3_error!(SlowDown, "Please reduce your request rate."));
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// What is said to a client whose header does not end.
const LATE_HEADER: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
    content-type: application/xml\r\ncontent-length: 100\r\n\r\n\
    <Error><Code>RequestTimeout</Code><Message>The header did not end in time.</Message></Error>       \n";

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(uri: &'static str, pairs: &[(&'static str, &'static str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        match check(&Uri::from_static(uri), &headers) {
            Ok(()) => "fine".into(),
            Err(error) => error.code().as_str().into(),
        }
    }

    #[test]
    fn documents_that_are_too_long_are_refused_and_content_is_not() {
        let is = |method: Method, has_key, uri: &'static str| {
            is_xml(&method, has_key, &Uri::from_static(uri))
        };
        assert!(is(Method::POST, false, "/b?delete"));
        assert!(is(Method::POST, true, "/b/k?uploadId=7"));
        assert!(is(Method::PUT, false, "/b?lifecycle"));
        assert!(is(Method::PUT, true, "/b/k?tagging"));
        assert!(!is(Method::PUT, true, "/b/k?partNumber=1&uploadId=tagging"));
        assert!(!is(Method::PUT, true, "/b/k") && !is(Method::GET, false, "/b?acl"));
        let of = |length: usize| {
            let length = HeaderValue::from(length);
            let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, length)]);
            check_length(&headers).map_err(|error| error.code().as_str().to_owned())
        };
        assert_eq!(of(MAX_XML), Ok(()));
        assert_eq!(of(MAX_XML + 1), Err("MaxMessageLengthExceeded".into()));
        assert!(check_length(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn what_the_library_would_take_is_refused() {
        assert_eq!(checked("/b/k?Signature=x&AWSAccessKeyId=y", &[]), "InvalidRequest");
        // A query of a client of its own.
        assert_eq!(checked("/b/k?Signature=x", &[]), "fine");
        assert_eq!(checked("/b", &[("authorization", "AWS a:b")]), "InvalidRequest");
        assert_eq!(checked("/b", &[("authorization", "AWS4-HMAC-SHA256 x")]), "fine");
        assert_eq!(checked("/b", &[("authorization", "")]), "AccessDenied");
        let owner = |owner| checked("/b", &[("x-amz-expected-bucket-owner", owner)]);
        assert_eq!([owner(OWNER), owner("123456789012")], ["fine", "AccessDenied"]);
        let wrong = "AuthorizationQueryParametersError";
        for (expires, said) in
            [("1", "fine"), ("604800", "fine"), ("604801", wrong), ("0", wrong), ("-1", wrong)]
        {
            let uri =
                format!("/b/k?X-Amz-Expires={expires}&X-Amz-Signature=x&X-Amz-SignedHeaders=host");
            assert_eq!(checked(uri.leak(), &[]), said, "{expires}");
        }
        let unsigned = "/b/k?X-Amz-Expires=9&X-Amz-Signature=x&X-Amz-SignedHeaders=x-amz-date";
        assert_eq!(checked(unsigned, &[]), wrong);
        let copy = ("x-amz-copy-source", "/b/other");
        let signed = |names: &str| {
            let uri = format!("/b/k?X-Amz-Expires=9&X-Amz-Signature=x&X-Amz-SignedHeaders={names}");
            checked(uri.leak(), &[copy])
        };
        assert_eq!(signed("host"), "AccessDenied");
        assert_eq!(signed("host%3Bx-amz-copy-source"), "fine");
        let header = |names: &str| {
            let text = format!("AWS4-HMAC-SHA256 Credential=x, SignedHeaders={names}, Signature=x");
            checked("/b/k", &[copy, ("authorization", text.leak())])
        };
        assert_eq!(
            [header("host;x-amz-date"), header("host;x-amz-copy-source")],
            ["AccessDenied", "fine"]
        );
        // As the library reads them: in capitals a name is not signed, and what names them is what comes last.
        assert_eq!(header("host;X-Amz-Copy-Source"), "AccessDenied");
        assert_eq!(signed("host%3BX-Amz-Copy-Source"), "AccessDenied");
        let twice =
            "SignedHeaders=host;x-amz-copy-source, Credential=x, SignedHeaders=host, Signature=x";
        assert_eq!(checked("/b/k", &[copy, ("authorization", twice)]), "InvalidArgument");
        let twice = "AWS4-HMAC-SHA256 Credential=SignedHeaders=host;x-amz-copy-source,, SignedHeaders=host, Signature=x";
        assert_eq!(checked("/b/k", &[copy, ("authorization", twice)]), "AccessDenied");
        let fine =
            "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host;x-amz-copy-source, Signature=x";
        let both = [copy, ("authorization", "AWS4-HMAC-SHA256 x"), ("authorization", fine)];
        assert_eq!(checked("/b/k", &both), "InvalidArgument");
        let form = "Multipart/form-data; boundary=x";
        let headers =
            HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(form))]);
        assert_eq!(is_form(&Method::POST, &headers).as_deref(), Some(form));
        assert_eq!(is_form(&Method::PUT, &headers), None);
        let mut odd = HeaderMap::new();
        for bytes in [&b"\xff"[..], "multipart/form-data; boundary=x; a=\"\u{e9}\"".as_bytes()] {
            odd.append(header::CONTENT_TYPE, HeaderValue::from_bytes(bytes).expect("a value"));
        }
        assert!(is_form(&Method::POST, &odd).is_some());
    }

    #[test]
    fn a_late_header_is_answered_with_its_length() {
        let text = str::from_utf8(LATE_HEADER).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("an end");
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{}", body.len());
    }
}
