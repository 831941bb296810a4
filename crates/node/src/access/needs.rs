//! What a request of native HTTP needs to be allowed.

use axum::http::{HeaderMap, Method, Uri};
use slotcast_policy::{BUCKET_ARN, NODE_ARN};

use crate::objects_http::TAGS;

/// What a request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing: what answers it gives nothing away, or asks for credentials itself.
    Nothing,
    /// To be of this machine, or to be allowed to read metrics.
    Health,
    /// To be allowed all of this.
    All(Vec<Need>),
    /// To be the root: nothing is known of such a request.
    Everything,
}

/// An action on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) action: &'static str,
    pub(super) resource: String,
    /// What the names begin with that are listed.
    pub(super) prefix: Option<String>,
}

fn need(action: &'static str, resource: String) -> Need {
    Need { action, resource, prefix: None }
}

fn one(action: &'static str, resource: String) -> Needs {
    Needs::All(vec![need(action, resource)])
}

/// A part of a path, as the router decodes it.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
        match (first, after) {
            (b'%', [high, low, tail @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push(hex(*high)? << 4 | hex(*low)?);
                rest = tail;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// What is asked beside the path.
struct Query(Vec<(String, String)>);

impl Query {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| &value[..])
    }
}

/// What this request needs. Whoever stores an object with tags, which the headers say, sets them.
pub(super) fn of(method: &Method, uri: &Uri, headers: &HeaderMap) -> Needs {
    match of_path(method, uri) {
        Needs::All(mut needs) if method == Method::PUT && headers.contains_key(TAGS) => {
            let put = needs.iter().find(|need| need.action == "s3:PutObject");
            needs.extend(put.map(|put| need("s3:PutObjectTagging", put.resource.clone())));
            Needs::All(needs)
        }
        needs => needs,
    }
}

fn of_path(method: &Method, uri: &Uri) -> Needs {
    let path = uri.path();
    let query = Query(serde_urlencoded::from_str(uri.query().unwrap_or("")).unwrap_or_default());
    // What answers GET answers HEAD.
    let method = if method == Method::HEAD { Method::GET } else { method.clone() };
    let node = || format!("{NODE_ARN}node");
    match (method.as_str(), path) {
        (_, "/healthz" | "/readyz" | "/metrics") => Needs::Health,
        ("GET", "/v1/status" | "/v1/collection" | "/v1/events" | "/v1/map") => {
            one("slotcast:GetStatus", node())
        }
        ("POST", "/v1/collection") => one("slotcast:CollectGarbage", node()),
        ("PUT", "/v1/content") => one("slotcast:PutContent", format!("{NODE_ARN}content")),
        (method, path) => {
            if let Some(rest) = path.strip_prefix("/v1/content/").filter(|_| method == "GET") {
                let address = rest.strip_suffix("/chunks").unwrap_or(rest);
                return one("slotcast:GetContent", format!("{NODE_ARN}content/{address}"));
            }
            if path == "/v1/users" {
                return one("slotcast:ManageUsers", format!("{NODE_ARN}user/"));
            }
            if let Some(rest) = path.strip_prefix("/v1/users/") {
                let name = rest.split('/').next().unwrap_or(rest);
                let name = decoded(name).filter(|name| !name.contains('/'));
                return name.map_or(Needs::Everything, |name| {
                    one("slotcast:ManageUsers", format!("{NODE_ARN}user/{name}"))
                });
            }
            if path == "/v1/jobs" {
                return one("slotcast:ManageJobs", format!("{NODE_ARN}job/"));
            }
            if let Some(rest) = path.strip_prefix("/v1/jobs/") {
                let job = rest.split('/').next().unwrap_or(rest);
                return one("slotcast:ManageJobs", format!("{NODE_ARN}job/{job}"));
            }
            if let Some(rest) = path.strip_prefix("/v2/") {
                return of_names(method, rest, &query).unwrap_or(Needs::Everything);
            }
            let is_ours = path.starts_with("/v1") || path.starts_with("/v2");
            if is_ours { Needs::Everything } else { Needs::Nothing }
        }
    }
}

/// What a request for buckets or objects needs; none if nothing is known of it. Of a bucket with a slash in its name, which S3
/// has not, policies could not tell it from an object.
fn of_names(method: &str, path: &str, query: &Query) -> Option<Needs> {
    let (bucket, name) = path.split_once('/').map_or((path, None), |(b, n)| (b, Some(n)));
    let bucket = decoded(bucket).filter(|bucket| !bucket.contains('/'))?;
    let Some(name) = name else {
        if !bucket.is_empty() {
            return of_bucket(method, &bucket, query);
        }
        let listed = query.get("bucket");
        return match (method, listed) {
            ("GET", None) => Some(one("s3:ListAllMyBuckets", format!("{BUCKET_ARN}*"))),
            ("GET", Some(bucket)) if !bucket.contains('/') => {
                Some(one("s3:ListBucket", format!("{BUCKET_ARN}{bucket}")))
            }
            _ => None,
        };
    };
    let resource = format!("{BUCKET_ARN}{bucket}/{}", decoded(name)?);
    let is_version = query.get("version").is_some();
    let of = |latest, version| if is_version { version } else { latest };
    let mut needs = vec![need(
        match method {
            "GET" => of("s3:GetObject", "s3:GetObjectVersion"),
            "PUT" => "s3:PutObject",
            "PATCH" => of("s3:PutObjectTagging", "s3:PutObjectVersionTagging"),
            "DELETE" => of("s3:DeleteObject", "s3:DeleteObjectVersion"),
            _ => return None,
        },
        resource,
    )];
    if let Some(from) = query.get("from").filter(|_| method == "PUT") {
        let is_version = query.get("from_version").is_some();
        let action = if is_version { "s3:GetObjectVersion" } else { "s3:GetObject" };
        needs.push(need(action, format!("{BUCKET_ARN}{from}")));
    }
    Some(Needs::All(needs))
}

fn of_bucket(method: &str, bucket: &str, query: &Query) -> Option<Needs> {
    let resource = format!("{BUCKET_ARN}{bucket}");
    let action = match method {
        "GET" => {
            let all = query.get("versions").is_some_and(|value| value != "false");
            let action = if all { "s3:ListBucketVersions" } else { "s3:ListBucket" };
            let prefix = Some(query.get("prefix").unwrap_or("").to_owned());
            return Some(Needs::All(vec![Need { action, resource, prefix }]));
        }
        "PUT" => "s3:CreateBucket",
        "PATCH" => "s3:PutBucketVersioning",
        "DELETE" => "s3:DeleteBucket",
        _ => return None,
    };
    Some(one(action, resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(method: &str, uri: &str) -> String {
        said_with(method, uri, &HeaderMap::new())
    }

    fn said_with(method: &str, uri: &str, headers: &HeaderMap) -> String {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        match of(&method, &uri.parse().expect("a URI"), headers) {
            Needs::All(needs) => {
                let text = |need: &Need| {
                    let Need { action, resource, prefix } = need;
                    let resource = resource.replace(BUCKET_ARN, "s3/").replace(NODE_ARN, "node/");
                    let prefix = prefix.as_ref().map_or(String::new(), |of| format!(" {of:?}"));
                    format!("{action} {resource}{prefix}")
                };
                needs.iter().map(text).collect::<Vec<_>>().join(", ")
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_request_needs_what_it_does() {
        for (method, uri, needs) in [
            ("GET", "/", "Nothing"),
            ("GET", "/metrics", "Health"),
            ("GET", "/v1/status", "slotcast:GetStatus node/node"),
            ("POST", "/v1/status", "Everything"),
            ("POST", "/v1/collection", "slotcast:CollectGarbage node/node"),
            ("PUT", "/v1/content?replicas=2", "slotcast:PutContent node/content"),
            ("GET", "/v1/content/abc/chunks", "slotcast:GetContent node/content/abc"),
            ("GET", "/v1/users", "slotcast:ManageUsers node/user/"),
            ("DELETE", "/v1/users/ann/keys/K", "slotcast:ManageUsers node/user/ann"),
            ("POST", "/v1/jobs", "slotcast:ManageJobs node/job/"),
            ("GET", "/v1/jobs/019a/log", "slotcast:ManageJobs node/job/019a"),
            ("GET", "/v1/users/a%2Fb", "Everything"),
            ("GET", "/v1/more", "Everything"),
            ("GET", "/v2", "Everything"),
            ("GET", "/v2/", "s3:ListAllMyBuckets s3/*"),
            ("GET", "/v2/?bucket=b", "s3:ListBucket s3/b"),
            ("HEAD", "/v2/b", "s3:ListBucket s3/b \"\""),
            ("GET", "/v2/b?prefix=a%2Fb&limit=1", "s3:ListBucket s3/b \"a/b\""),
            ("GET", "/v2/b?versions=true", "s3:ListBucketVersions s3/b \"\""),
            ("PUT", "/v2/b?versions=on", "s3:CreateBucket s3/b"),
            ("PATCH", "/v2/b", "s3:PutBucketVersioning s3/b"),
            ("DELETE", "/v2/b", "s3:DeleteBucket s3/b"),
            ("GET", "/v2/a%2Fb", "Everything"),
            ("GET", "/v2/b/a%20b/../c", "s3:GetObject s3/b/a b/../c"),
            ("HEAD", "/v2/b/k?version=1-2", "s3:GetObjectVersion s3/b/k"),
            ("GET", "/v2/b/%ff", "Everything"),
            ("PUT", "/v2/b/k", "s3:PutObject s3/b/k"),
            ("PUT", "/v2/b/k?from=c%2Fx", "s3:PutObject s3/b/k, s3:GetObject s3/c/x"),
            (
                "PUT",
                "/v2/b/k?from=c/x&from_version=1-2",
                "s3:PutObject s3/b/k, s3:GetObjectVersion s3/c/x",
            ),
            ("PATCH", "/v2/b/k", "s3:PutObjectTagging s3/b/k"),
            ("DELETE", "/v2/b/k?version=1-2", "s3:DeleteObjectVersion s3/b/k"),
            ("POST", "/v2/b/k", "Everything"),
        ] {
            assert_eq!(said(method, uri), needs, "{method} {uri}");
        }
    }

    #[test]
    fn whoever_stores_an_object_with_tags_sets_them() {
        let mut headers = HeaderMap::new();
        headers.insert(TAGS, "a=1".parse().expect("a value"));
        for (method, uri, needs) in [
            ("PUT", "/v2/b/k", "s3:PutObject s3/b/k, s3:PutObjectTagging s3/b/k"),
            ("GET", "/v2/b/k", "s3:GetObject s3/b/k"),
            ("PUT", "/v2/b", "s3:CreateBucket s3/b"),
        ] {
            assert_eq!(said_with(method, uri, &headers), needs, "{method} {uri}");
        }
    }

    #[test]
    fn all_actions_are_known_to_policies() {
        let source = include_str!("needs.rs");
        let named = source
            .split('"')
            .filter(|text| text.starts_with("s3:") || text.starts_with("slotcast:"));
        let named: Vec<&str> = named.filter(|text| !text.contains([' ', '*'])).collect();
        assert!(named.iter().all(|text| text.ends_with(':') || slotcast_policy::is_action(text)));
        assert!(named.len() > 15);
    }
}
