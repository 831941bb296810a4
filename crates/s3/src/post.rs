//! PostObject: objects that browsers upload with a form.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER};
use futures_util::{Stream, StreamExt, stream};
use ring::hmac;
use s3s::dto::{Metadata, Tagging};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use slotcast_node::access::{Caller, Peer};
use slotcast_node::audit::{AuditSlot, Audited};
use slotcast_node::{Cause, new_key, now_ms};
use slotcast_object::notification::EventKind;
use slotcast_policy::BUCKET_ARN;

use crate::access::must_allow;
use crate::checksums::{Announced, etag};
use crate::conditions::Wanted;
use crate::errors::{malformed_xml, of_object};
use crate::form::{Fields, FileHead, Form, FormError, boundary};
use crate::form_policy::FormPolicy;
use crate::gateway::Gateway;
use crate::listing::Encoding;
use crate::put::{Content, MAX_PUT, Said, Stored};

/// Of a file that is shorter its length is known before it is stored.
const BUFFERED: usize = 1 << 20;

/// A request with a form.
pub(crate) struct Posted<S> {
    pub(crate) bucket: String,
    pub(crate) content_type: String,
    pub(crate) peer: Option<Peer>,
    pub(crate) audit: Option<AuditSlot>,
    pub(crate) number: String,
    pub(crate) content: S,
}

fn of_form(error: &FormError) -> S3Error {
    match error {
        FormError::Malformed => {
            s3_error!(
                MalformedPOSTRequest,
                "The body of your POST request is not well-formed multipart/form-data."
            )
        }
        FormError::Long => s3_error!(
            MaxPostPreDataLengthExceededError,
            "Your POST request fields preceeding the upload file were too large."
        ),
        FormError::BrokeOff(_) => crate::errors::incomplete(),
    }
}

fn missing(name: &str) -> S3Error {
    s3_error!(
        InvalidArgument,
        "Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of the fields."
    )
}

fn wrong_signature() -> S3Error {
    s3_error!(
        SignatureDoesNotMatch,
        "The request signature we calculated does not match the signature you provided. Check your key and signing method."
    )
}

/// The access key that a form names, what it is signed with, and what of it was signed.
#[derive(Debug, PartialEq, Eq)]
enum Signed<'a> {
    V4 { access: &'a str, scope: [&'a str; 4], signature: &'a str },
    V2 { access: &'a str, signature: &'a str },
}

impl Signed<'_> {
    fn access(&self) -> &str {
        match self {
            Signed::V4 { access, .. } | Signed::V2 { access, .. } => access,
        }
    }

    /// Whether the policy was signed with this secret key.
    fn is_by(&self, secret: &str, policy: &str) -> bool {
        let key_of = |algorithm, key: &[u8]| hmac::Key::new(algorithm, key);
        match self {
            Signed::V4 { scope, signature, .. } => {
                let mut key = format!("AWS4{secret}").into_bytes();
                for part in scope {
                    let next = hmac::sign(&key_of(hmac::HMAC_SHA256, &key), part.as_bytes());
                    key = next.as_ref().to_vec();
                }
                let Ok(signature) = HEXLOWER.decode(signature.as_bytes()) else { return false };
                let key = key_of(hmac::HMAC_SHA256, &key);
                hmac::verify(&key, policy.as_bytes(), &signature).is_ok()
            }
            Signed::V2 { signature, .. } => {
                let Ok(signature) = BASE64.decode(signature.as_bytes()) else { return false };
                let key = key_of(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
                hmac::verify(&key, policy.as_bytes(), &signature).is_ok()
            }
        }
    }
}

/// How a form is signed, if it is.
fn signed<'a>(get: impl Fn(&str) -> Option<&'a str>) -> S3Result<Option<Signed<'a>>> {
    if let Some(algorithm) = get("x-amz-algorithm") {
        if algorithm != "AWS4-HMAC-SHA256" {
            return Err(s3_error!(InvalidArgument, "X-Amz-Algorithm is AWS4-HMAC-SHA256"));
        }
        let credential = get("x-amz-credential").ok_or_else(|| missing("X-Amz-Credential"))?;
        let signature = get("x-amz-signature").ok_or_else(|| missing("X-Amz-Signature"))?;
        let date = get("x-amz-date").ok_or_else(|| missing("X-Amz-Date"))?;
        let mut parts = credential.rsplitn(5, '/');
        let mut next = || parts.next().unwrap_or("");
        let (end, service, region, day, access) = (next(), next(), next(), next(), next());
        if access.is_empty() || end != "aws4_request" || service != "s3" || !date.starts_with(day) {
            return Err(s3_error!(InvalidArgument, "X-Amz-Credential is malformed"));
        }
        return Ok(Some(Signed::V4 { access, scope: [day, region, service, end], signature }));
    }
    match (get("awsaccesskeyid"), get("signature"), get("policy")) {
        (Some(access), Some(signature), Some(_)) => Ok(Some(Signed::V2 { access, signature })),
        (None, None, None) => Ok(None),
        (_, _, None) => Err(missing("policy")),
        (None, _, Some(_)) => Err(missing("AWSAccessKeyId")),
        (Some(_), None, Some(_)) => Err(missing("Signature")),
    }
}

/// What the fields of a form say as headers of a put would, and metadata.
fn headers_of(fields: &[(String, String)], file: &FileHead) -> S3Result<(HeaderMap, Metadata)> {
    let (mut headers, mut metadata) = (HeaderMap::new(), Metadata::new());
    let refused = |name: &str| s3_error!(InvalidArgument, "The field {name} cannot be used");
    for (name, value) in fields {
        if let Some(key) = name.strip_prefix("x-amz-meta-") {
            // It is a header of answers.
            HeaderName::try_from(&name[..]).map_err(|_| refused(name))?;
            metadata.insert(key.to_owned(), value.clone());
            continue;
        }
        let name = match &name[..] {
            "acl" => "x-amz-acl",
            "cache-control"
            | "content-type"
            | "content-disposition"
            | "content-encoding"
            | "content-language"
            | "content-md5"
            | "expires" => name,
            name if name.starts_with("x-amz-") => name,
            _ => continue,
        };
        let pair = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(name), Ok(value)) = pair else { return Err(refused(name)) };
        headers.insert(name, value);
    }
    if let Some(kind) = &file.content_type
        && !headers.contains_key(header::CONTENT_TYPE)
        && let Ok(value) = HeaderValue::try_from(kind)
    {
        headers.insert(header::CONTENT_TYPE, value);
    }
    Ok((headers, metadata))
}

/// The tags of a field in XML.
fn tags_of(xml: &str) -> S3Result<std::collections::BTreeMap<String, String>> {
    use s3s::xml::{Deserialize, Deserializer};
    let mut reader = Deserializer::new(xml.as_bytes());
    let tagging = Tagging::deserialize(&mut reader).map_err(|_| malformed_xml())?;
    crate::tagging::of_object(tagging)
}

impl Gateway {
    /// Who has signed a form, if what it says is as its policy has it.
    async fn who_posts(
        &self,
        fields: &Fields,
        (bucket, peer): (&str, Peer),
    ) -> S3Result<(Caller, Option<FormPolicy>)> {
        let Some(signed) = signed(|name| fields.get(name))? else {
            return Ok((self.access.anonymous(peer), None));
        };
        let policy = fields.get("policy").ok_or_else(|| missing("policy"))?;
        let known = self.access.key(signed.access()).await;
        let known = known.map_err(|error| {
            S3Error::with_message(S3ErrorCode::ServiceUnavailable, error.to_string())
        })?;
        let known = known.ok_or_else(|| {
            s3_error!(
                InvalidAccessKeyId,
                "The AWS Access Key Id you provided does not exist in our records."
            )
        })?;
        if !signed.is_by(known.secret.expose(), policy) {
            return Err(wrong_signature());
        }
        let compact: Vec<u8> = policy.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let json = BASE64
            .decode(&compact)
            .map_err(|_| s3_error!(InvalidPolicyDocument, "Invalid Policy: it is not in Base64"))?;
        let policy = FormPolicy::read(&json)?;
        policy.check(&fields.0, bucket, now_ms())?;
        Ok((known.caller(peer), Some(policy)))
    }

    /// Stores the file of a form.
    async fn store_file<S>(
        &self,
        form: Form<S>,
        (bucket, key): (&str, &str),
        (policy, cause): (Option<&FormPolicy>, Cause),
    ) -> S3Result<Stored>
    where
        S: Stream<Item = Result<Bytes, axum::Error>> + Unpin + Send + 'static,
    {
        let file = form.file.clone().unwrap_or_default();
        let (headers, metadata) = headers_of(&form.fields.0, &file)?;
        let tags = form.fields.get("tagging").map(tags_of).transpose()?;
        let most = policy.and_then(FormPolicy::max_length).unwrap_or(MAX_PUT).min(MAX_PUT);
        let mut content = Box::pin(form.content().fuse());
        let (mut first, mut length, mut is_over) = (Vec::new(), 0, false);
        while length <= BUFFERED && !is_over {
            match content.next().await {
                Some(piece) => {
                    let piece = piece.map_err(|error| of_form(&error))?;
                    length += piece.len();
                    first.push(piece);
                }
                None => is_over = true,
            }
        }
        let known = is_over.then_some(length as u64);
        if let (Some(policy), Some(length)) = (policy, known) {
            policy.check_length(length)?;
        }
        let rest = content.scan(length as u64, move |length, piece| {
            let piece = piece.map_err(|error| error.to_string()).and_then(|piece| {
                *length += piece.len() as u64;
                if *length > most { Err(crate::errors::TOO_LONG.into()) } else { Ok(piece) }
            });
            futures_util::future::ready(Some(piece.map_err(Into::into)))
        });
        let pieces = stream::iter(first.into_iter().map(Ok)).chain(rest);
        let content = Content { pieces: Box::pin(pieces), length: known, policy: policy.cloned() };
        let announced = Announced::of(&headers, None, None)?;
        let (metadata, wanted) = (Some(&metadata), Wanted::default());
        let peer = cause.caller.as_ref().map(Caller::peer);
        let encryption = self.encryption(&headers, peer)?;
        let headers = &headers;
        let said = Said { headers, metadata, tags, announced, wanted, encryption, cause };
        self.store((bucket, key), new_key().map_err(of_object)?, said, content).await
    }
}

/// Carries out a request with a form.
pub(crate) async fn post<S>(gateway: &Gateway, posted: Posted<S>) -> S3Result<Response>
where
    S: Stream<Item = Result<Bytes, axum::Error>> + Unpin + Send + 'static,
{
    let Posted { bucket, content_type, peer, audit, number, content } = posted;
    let peer = peer.ok_or_else(|| S3Error::new(S3ErrorCode::InternalError))?;
    let boundary = boundary(&content_type).ok_or_else(|| of_form(&FormError::Malformed))?;
    // Who sends it is not known before all fields are read.
    let form = tokio::time::timeout(gateway.objects.body_timeout(), Form::read(&boundary, content));
    let form = form.await.map_err(|_| crate::errors::incomplete())?;
    let form = form.map_err(|error| of_form(&error))?;
    let say = |user: &str, key: &str| {
        if let Some(slot) = &audit {
            let (user, operation) = (user.to_owned(), "PostObject".to_owned());
            slot.say(Audited { user, operation, resource: format!("{BUCKET_ARN}{bucket}/{key}") });
        }
    };
    let Some(file) = form.file.clone() else {
        return Err(s3_error!(
            IncorrectNumberOfFilesInPostRequest,
            "POST requires exactly one file upload per request."
        ));
    };
    if let Some(name) = form.fields.repeated() {
        return Err(s3_error!(InvalidArgument, "The form has the field {name} twice"));
    }
    let key = form.fields.get("key").filter(|key| !key.is_empty()).ok_or_else(|| missing("key"))?;
    let key = key.replace("${filename}", &file.name);
    say("unknown", &key);
    let (caller, policy) = gateway.who_posts(&form.fields, (&bucket, peer)).await?;
    say(caller.name(), &key);
    let resource = format!("{BUCKET_ARN}{bucket}/{key}");
    must_allow(&gateway.access, &caller, ("s3:PutObject", &resource), None).await?;
    for (field, action) in crate::actions::BY_HEADER {
        if form.fields.get(field).is_some() {
            must_allow(&gateway.access, &caller, (action, &resource), None).await?;
        }
    }
    if form.fields.get("tagging").is_some() {
        must_allow(&gateway.access, &caller, ("s3:PutObjectTagging", &resource), None).await?;
    }
    let redirect =
        form.fields.get("success_action_redirect").or_else(|| form.fields.get("redirect"));
    let redirect = redirect.filter(|to| !to.is_empty()).map(str::to_owned);
    let status = form.fields.get("success_action_status").map(str::to_owned);
    let kind = EventKind::CreatedPost;
    let cause = Cause { kind, caller: Some(caller), request: Some(number) };
    let stored = gateway.store_file(form, (&bucket, &key), (policy.as_ref(), cause)).await?;
    Ok(answer((&bucket, &key), &stored, (redirect.as_deref(), status.as_deref())))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn answer(
    (bucket, key): (&str, &str),
    stored: &Stored,
    (redirect, status): (Option<&str>, Option<&str>),
) -> Response {
    let tag = format!("\"{}\"", etag(&stored.object));
    let encode = |text: &str| Encoding::URL.of(text);
    let location = format!("/{bucket}/{}", encode(key));
    let mut response = match (redirect, status) {
        (Some(to), _) if to.starts_with("http://") || to.starts_with("https://") => {
            let sign = if to.contains('?') { '&' } else { '?' };
            let (bucket, key, tag) =
                (encode(bucket), encode(key).replace('/', "%2F"), encode(&tag));
            let to = format!("{to}{sign}bucket={bucket}&key={key}&etag={tag}");
            let mut response = StatusCode::SEE_OTHER.into_response();
            if let Ok(value) = HeaderValue::try_from(to) {
                response.headers_mut().insert(header::LOCATION, value);
            }
            return response;
        }
        (_, Some("201")) => {
            let text = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PostResponse><Location>{}</Location>\
                 <Bucket>{}</Bucket><Key>{}</Key><ETag>{}</ETag></PostResponse>",
                escaped(&location),
                escaped(bucket),
                escaped(key),
                escaped(&tag)
            );
            (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/xml")], text).into_response()
        }
        (_, Some("200")) => StatusCode::OK.into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    };
    let version = stored.version.clone().unwrap_or_default();
    for (name, text) in [("etag", &tag), ("location", &location), ("x-amz-version-id", &version)] {
        if let (false, Ok(value)) = (text.is_empty(), HeaderValue::try_from(text)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
