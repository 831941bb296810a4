//! Keeps pages of other sites from using a node through the browser of somebody who can reach it.
//!
//! Native HTTP asks nobody on the loopback who they are, and a browser there sends requests for any page that is open in
//! it. Three things are checked of a request that a browser has sent:
//!
//! * `Sec-Fetch-Site` and `Origin` say which site has asked for it. Another one may only lead a person here: a GET that opens
//!   a page.
//! * `Host` says which name the browser believes to speak to. An attacker's name that leads to 127.0.0.1 (DNS rebinding)
//!   makes its page one of the same site. So the name is an address, one that nobody can register (`localhost`, a name without a
//!   dot), that of this machine, or one that the operator has given.
//!
//! What no browser has sent is not touched: other programs are not led by pages. All browsers send `Accept-Language`, which
//! a page can change, but not take away; `Origin` and `Sec-Fetch-Site` it cannot change.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::Problem;

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// By which names browsers may reach the node, besides those that everybody has.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostNames(Arc<Vec<String>>);

/// The name or address in `Host` or behind the scheme of an origin, without the port.
fn without_port(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
        None => authority.split(':').next().unwrap_or(""),
    }
}

impl HostNames {
    /// These, and that of the machine.
    pub(crate) fn new(names: &[String]) -> HostNames {
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        HostNames(Arc::new(names.iter().cloned().chain([machine]).collect()))
    }

    fn has(&self, authority: &str) -> bool {
        let name = without_port(authority).trim_end_matches('.');
        let is_unregistered =
            !name.contains('.') || name.to_ascii_lowercase().ends_with(".localhost");
        let is_known = || self.0.iter().any(|known| known.eq_ignore_ascii_case(name));
        !name.is_empty() && (name.parse::<IpAddr>().is_ok() || is_unregistered || is_known())
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or(""))
}

/// Whether a browser has sent it.
fn is_browser(headers: &HeaderMap) -> bool {
    [&SITE, &header::ORIGIN, &header::ACCEPT_LANGUAGE]
        .iter()
        .any(|name| headers.contains_key(*name))
}

/// Whether a page of another site has asked for it, as far as the browser says.
fn is_foreign(headers: &HeaderMap, host: &str) -> bool {
    let site = text(headers, &SITE);
    // Behind a proxy that speaks TLS the scheme is another one.
    let origin = text(headers, &header::ORIGIN);
    let is_other =
        |origin: &str| origin.split_once("://").is_none_or(|(_, authority)| authority != host);
    site.is_some_and(|site| !matches!(site, "same-origin" | "none")) || origin.is_some_and(is_other)
}

/// A person follows a link, or types an address.
fn opens_a_page(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::GET
        && text(headers, &MODE) == Some("navigate")
        && text(headers, &DESTINATION) == Some("document")
}

/// Why a request is refused, if it is.
fn refusal(
    method: &Method,
    host: Option<&str>,
    headers: &HeaderMap,
    names: &HostNames,
) -> Option<String> {
    if !is_browser(headers) {
        return None;
    }
    let host = host.or_else(|| text(headers, &header::HOST)).unwrap_or("");
    if !names.has(host) {
        return Some(format!(
            "`{}` is no name of this node: use its address, or start it with --host-name {0}",
            without_port(host)
        ));
    }
    let is_refused = is_foreign(headers, host) && !opens_a_page(method, headers);
    is_refused.then(|| {
        "a page of another site asks: a browser may use this node from its own page alone".into()
    })
}

/// Content is that of users: a browser that opens it must not take it for a part of the page. It has no scripts, and is not what
/// it is not said to be.
fn shield(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        ),
    );
}

/// See the [module](self).
pub(crate) async fn guard(
    State(names): State<HostNames>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if let Some(why) =
        refusal(request.method(), request.uri().authority().map(|of| of.as_str()), headers, &names)
    {
        return Problem(StatusCode::FORBIDDEN, why).into_response();
    }
    let is_page = !request.uri().path().starts_with("/v");
    let mut response = next.run(request).await;
    if !is_page {
        shield(&mut response);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn is_refused(method: &Method, pairs: &[(&'static str, &'static str)]) -> bool {
        let names = HostNames(Arc::new(vec!["store.example".into()]));
        refusal(method, None, &asked(pairs), &names).is_some()
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:7480");

    #[test]
    fn programs_and_the_page_itself_are_served() {
        for method in [Method::GET, Method::PUT, Method::POST, Method::DELETE] {
            assert!(!is_refused(&method, &[("host", "anything.example:7480")]));
            let own =
                [HERE, ("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:7480")];
            assert!(!is_refused(&method, &own));
            assert!(!is_refused(&method, &[HERE, ("accept-language", "en")]));
        }
    }

    #[test]
    fn pages_of_other_sites_can_do_nothing() {
        for method in [Method::GET, Method::PUT, Method::POST, Method::DELETE] {
            for site in ["cross-site", "same-site", "what?"] {
                assert!(is_refused(&method, &[HERE, ("sec-fetch-site", site)]), "{site}");
            }
            // Of a browser that sends no Sec-Fetch-Site, and of a page in a sandbox.
            for origin in ["http://evil.example", "null", "http://127.0.0.1:8000"] {
                assert!(is_refused(&method, &[HERE, ("origin", origin)]), "{origin}");
            }
        }
    }

    #[test]
    fn a_link_leads_here_and_a_form_or_a_frame_does_not() {
        let open = |destination| {
            [
                HERE,
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", destination),
            ]
        };
        assert!(!is_refused(&Method::GET, &open("document")));
        assert!(is_refused(&Method::POST, &open("document")));
        assert!(is_refused(&Method::GET, &open("iframe")));
    }

    #[test]
    fn a_name_that_somebody_else_may_own_is_refused() {
        let by_name = |host| {
            let pairs =
                [("host", host), ("accept-language", "en"), ("sec-fetch-site", "same-origin")];
            is_refused(&Method::GET, &pairs)
        };
        for host in [
            "evil.example:7480",
            "127.0.0.1.evil.example",
            "localhost.evil.example:7480",
            "",
            "[bad",
        ] {
            assert!(by_name(host), "{host}");
        }
        for host in [
            "localhost:7480",
            "[::1]:7480",
            "10.0.0.4",
            "node1:7480",
            "a.localhost",
            "STORE.example:80",
            "store.example.",
        ] {
            assert!(!by_name(host), "{host}");
        }
    }
}
