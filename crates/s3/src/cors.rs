//! Which pages of other sites may use a bucket (CORS): its rules, questions of browsers before a request, and what is said of
//! it with answers.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use s3s::dto::{
    CORSRule, DeleteBucketCorsInput, DeleteBucketCorsOutput, GetBucketCorsInput,
    GetBucketCorsOutput, PutBucketCorsInput, PutBucketCorsOutput,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use slotcast_object::CorsRule;

use crate::errors::malformed_xml;
use crate::gateway::Gateway;
use crate::names::request_key;
use crate::settings::done;

/// The most rules of a bucket, as AWS documents it.
const MAX_RULES: usize = 100;

const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "HEAD"];

fn check_pattern(text: &str, what: &str) -> S3Result<()> {
    match text.matches('*').count() {
        0 | 1 => Ok(()),
        _ => {
            Err(s3_error!(InvalidRequest, "{what} \"{text}\" can not have more than one wildcard."))
        }
    }
}

fn rule_of(said: &CORSRule) -> S3Result<CorsRule> {
    if said.allowed_methods.is_empty() || said.allowed_origins.is_empty() {
        return Err(malformed_xml());
    }
    if let Some(method) = said.allowed_methods.iter().find(|one| !METHODS.contains(&&one[..])) {
        return Err(s3_error!(
            InvalidRequest,
            "Found unsupported HTTP method in CORS config. Unsupported method is {method}"
        ));
    }
    let headers = said.allowed_headers.clone().unwrap_or_default();
    said.allowed_origins.iter().try_for_each(|one| check_pattern(one, "AllowedOrigin"))?;
    headers.iter().try_for_each(|one| check_pattern(one, "AllowedHeader"))?;
    let exposed = said.expose_headers.clone().unwrap_or_default();
    if let Some(wild) = exposed.iter().find(|one| one.contains('*')) {
        return Err(s3_error!(
            InvalidRequest,
            "ExposeHeader \"{wild}\" contains wildcard. We currently do not support wildcard for ExposeHeader."
        ));
    }
    let max_age = said.max_age_seconds.map(u32::try_from).transpose();
    Ok(CorsRule {
        id: said.id.clone(),
        origins: said.allowed_origins.clone(),
        methods: said.allowed_methods.clone(),
        headers,
        exposed,
        max_age: max_age.map_err(|_| malformed_xml())?,
    })
}

fn said_of(rule: CorsRule) -> CORSRule {
    let some = |texts: Vec<String>| (!texts.is_empty()).then_some(texts);
    CORSRule {
        id: rule.id,
        allowed_origins: rule.origins,
        allowed_methods: rule.methods,
        allowed_headers: some(rule.headers),
        expose_headers: some(rule.exposed),
        max_age_seconds: rule.max_age.and_then(|age| i32::try_from(age).ok()),
    }
}

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutBucketCorsInput>,
) -> S3Result<S3Response<PutBucketCorsOutput>> {
    let key = request_key(&request)?;
    let said = &request.input.cors_configuration.cors_rules;
    if !(1..=MAX_RULES).contains(&said.len()) {
        return Err(malformed_xml());
    }
    let rules: Vec<CorsRule> = said.iter().map(rule_of).collect::<S3Result<_>>()?;
    gateway.set(&request.input.bucket, key, |settings| settings.cors.clone_from(&rules)).await?;
    Ok(S3Response::new(PutBucketCorsOutput::default()))
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetBucketCorsInput>,
) -> S3Result<S3Response<GetBucketCorsOutput>> {
    let rules = gateway.settings(&request.input.bucket).await?.cors;
    if rules.is_empty() {
        return Err(s3_error!(NoSuchCORSConfiguration, "The CORS configuration does not exist"));
    }
    let mut output = GetBucketCorsOutput::default();
    output.cors_rules = Some(rules.into_iter().map(said_of).collect());
    Ok(S3Response::new(output))
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteBucketCorsInput>,
) -> S3Result<S3Response<DeleteBucketCorsOutput>> {
    let key = request_key(&request)?;
    gateway.set(&request.input.bucket, key, |settings| settings.cors.clear()).await?;
    Ok(done())
}

/// Whether a text is one of those that a pattern with at most one `*` means.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((begin, end)) => {
            text.len() >= begin.len() + end.len() && text.starts_with(begin) && text.ends_with(end)
        }
    }
}

/// What a page of another site asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    origin: String,
    method: String,
    /// Headers that it wants to send, in small letters.
    headers: Vec<String>,
}

impl Asked {
    /// What a request has of that; none if it does not come from a page of another site.
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Option<Asked> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let origin = text(header::ORIGIN)?.to_owned();
        let method = match method == Method::OPTIONS {
            true => text(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_owned(),
            false => method.as_str().to_owned(),
        };
        let wanted = text(header::ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or("");
        let headers = wanted.split(',').map(|name| name.trim().to_lowercase());
        Some(Asked { origin, method, headers: headers.filter(|name| !name.is_empty()).collect() })
    }

    fn is_allowed_by(&self, rule: &CorsRule) -> bool {
        let has = |name: &String| rule.headers.iter().any(|one| fits(&one.to_lowercase(), name));
        rule.origins.iter().any(|origin| fits(origin, &self.origin))
            && rule.methods.contains(&self.method)
            && self.headers.iter().all(has)
    }

    /// Headers that tell a browser what is allowed by the first of these rules that allows it; none if none does.
    pub(crate) fn answer(&self, rules: &[CorsRule], is_preflight: bool) -> Option<HeaderMap> {
        let rule = rules.iter().find(|rule| self.is_allowed_by(rule))?;
        let is_for_all = rule.origins.iter().any(|origin| origin == "*");
        let mut said = vec![
            (
                header::ACCESS_CONTROL_ALLOW_ORIGIN,
                if is_for_all { "*".into() } else { self.origin.clone() },
            ),
            (header::ACCESS_CONTROL_ALLOW_METHODS, rule.methods.join(", ")),
            (
                header::VARY,
                "Origin, Access-Control-Request-Headers, Access-Control-Request-Method".into(),
            ),
        ];
        if !is_for_all {
            said.push((header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true".into()));
        }
        if is_preflight && !self.headers.is_empty() {
            said.push((header::ACCESS_CONTROL_ALLOW_HEADERS, self.headers.join(", ")));
        }
        if !rule.exposed.is_empty() {
            said.push((header::ACCESS_CONTROL_EXPOSE_HEADERS, rule.exposed.join(", ")));
        }
        if let Some(age) = rule.max_age {
            said.push((header::ACCESS_CONTROL_MAX_AGE, age.to_string()));
        }
        let header = |(name, text): (_, String)| Some((name, HeaderValue::try_from(text).ok()?));
        Some(said.into_iter().filter_map(header).collect())
    }
}

/// The rules of a bucket; none of one that is not there.
pub(crate) async fn rules(gateway: &Gateway, bucket: &str) -> Vec<CorsRule> {
    let found = gateway.bucket(bucket).await;
    found.map(|found| found.bucket.settings.cors).unwrap_or_default()
}

/// The answer to a browser that asks before it sends a request.
pub(crate) async fn preflight(
    gateway: &Gateway,
    bucket: Option<&str>,
    headers: &HeaderMap,
) -> S3Result<(StatusCode, HeaderMap)> {
    let has = |name| headers.contains_key(name);
    if !has(header::ORIGIN) {
        let message = "Insufficient information. Origin request header needed.";
        return Err(S3Error::with_message(S3ErrorCode::InvalidRequest, message));
    }
    let method = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD);
    let Some(method) = method.and_then(|method| method.to_str().ok()) else {
        return Err(s3_error!(InvalidRequest, "Invalid Access-Control-Request-Method: null"));
    };
    if !METHODS.contains(&method) {
        return Err(s3_error!(InvalidRequest, "Invalid Access-Control-Request-Method: {method}"));
    }
    let rules = match bucket {
        Some(bucket) => rules(gateway, bucket).await,
        None => Vec::new(),
    };
    if rules.is_empty() {
        let message = "CORSResponse: CORS is not enabled for this bucket.";
        return Err(S3Error::with_message(S3ErrorCode::AccessDenied, message));
    }
    let asked = Asked::of(&Method::OPTIONS, headers);
    let answer = asked.and_then(|asked| asked.answer(&rules, true)).ok_or_else(|| {
        let message = "CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.";
        S3Error::with_message(S3ErrorCode::AccessDenied, message)
    })?;
    Ok((StatusCode::OK, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &[&str], methods: &[&str], headers: &[&str]) -> CorsRule {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        CorsRule {
            origins: texts(origins),
            methods: texts(methods),
            headers: texts(headers),
            exposed: vec!["ETag".into()],
            max_age: Some(60),
            id: None,
        }
    }

    fn asked(origin: &str, method: &str, headers: &[&str]) -> Asked {
        let headers = headers.iter().map(|name| name.to_lowercase()).collect();
        Asked { origin: origin.into(), method: method.into(), headers }
    }

    #[test]
    fn the_first_rule_that_fits_says_what_is_allowed() {
        let rules = [
            rule(&["https://*.example.org"], &["GET", "PUT"], &["x-amz-*"]),
            rule(&["*"], &["GET"], &[]),
        ];
        let origin = |asked: Asked| {
            let answer = asked.answer(&rules, true)?;
            let origin = answer.get(header::ACCESS_CONTROL_ALLOW_ORIGIN)?;
            origin.to_str().ok().map(str::to_owned)
        };
        let page = "https://a.example.org";
        assert_eq!(origin(asked(page, "PUT", &["X-Amz-Date"])).as_deref(), Some(page));
        assert_eq!(origin(asked(page, "GET", &["other"])), None);
        assert_eq!(origin(asked("https://b.org", "GET", &[])).as_deref(), Some("*"));
        assert_eq!(origin(asked("https://b.org", "PUT", &[])), None);
        assert_eq!(origin(asked(page, "DELETE", &[])), None);
        let answer = asked(page, "GET", &[]).answer(&rules, false).expect("it is allowed");
        assert_eq!(answer[header::ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
        assert_eq!(answer[header::ACCESS_CONTROL_EXPOSE_HEADERS], "ETag");
        assert_eq!(answer[header::ACCESS_CONTROL_MAX_AGE], "60");
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("a*c", "abc") && fits("a*c", "ac") && fits("*", "") && fits("a*", "a"));
        assert!(
            !fits("a*a", "a") && !fits("*.x", "y") && !fits("abc", "ab") && !fits("a*c", "abcd")
        );
    }

    #[test]
    fn rules_that_say_nothing_or_too_much_are_refused() {
        let refused = |rule: CorsRule| {
            rule_of(&said_of(rule)).err().map(|error| error.code().as_str().to_owned())
        };
        let fine = rule(&["*"], &["GET"], &["*"]);
        assert_eq!(refused(fine.clone()), None);
        assert_eq!(rule_of(&said_of(fine.clone())).ok(), Some(fine.clone()));
        assert_eq!(refused(rule(&[], &["GET"], &[])).as_deref(), Some("MalformedXML"));
        for wrong in [
            rule(&["*"], &["PATCH"], &[]),
            rule(&["*.*"], &["GET"], &[]),
            rule(&["*"], &["GET"], &["*-*"]),
            CorsRule { exposed: vec!["*".into()], ..fine },
        ] {
            assert_eq!(refused(wrong).as_deref(), Some("InvalidRequest"));
        }
    }
}
