//! Where in which etcd a value is, and how its members are spoken with.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where in which etcd a value is: `etcd://ADDRESS:PORT,ADDRESS:PORT/KEY`, or over TLS
/// `etcds://ADDRESS:PORT,…/KEY?ca=FILE&cert=FILE&key=FILE&user=NAME&password-file=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdAddress {
    /// Its members, as `ADDRESS:PORT`.
    pub endpoints: Vec<String>,
    /// The key, with its leading slash.
    pub key: String,
    /// How to speak over TLS; none without it.
    pub tls: Option<EtcdTls>,
    /// As it was written.
    text: String,
}

/// How to speak with etcd over TLS. The files are read when they are needed, again after a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdTls {
    /// Certificates of whom to believe who the members are; of none, those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate and the key of whoever asks.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name of a user, and the file with its password.
    pub user: Option<(String, PathBuf)>,
}

const PLAIN: &str = "etcd://";
const TLS: &str = "etcds://";

impl EtcdAddress {
    /// Whether a text is meant to be one.
    pub(super) fn is_meant(text: &str) -> bool {
        text.starts_with(PLAIN) || text.starts_with(TLS)
    }

    /// Reads an address; files are relative to `base`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, base: &Path) -> Result<EtcdAddress, String> {
        let (is_tls, rest) = match (text.strip_prefix(TLS), text.strip_prefix(PLAIN)) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(format!("begins with neither {PLAIN} nor {TLS}")),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let Some((endpoints, key)) = rest.split_once('/').filter(|(_, key)| !key.is_empty()) else {
            return Err("names no key".into());
        };
        let endpoints: Vec<String> = endpoints.split(',').map(str::to_owned).collect();
        for endpoint in &endpoints {
            let is_right = endpoint
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
            if !is_right {
                return Err(format!("`{endpoint}` is not an address and a port"));
            }
        }
        let tls = match (is_tls, query) {
            (true, query) => Some(EtcdTls::parse(query.unwrap_or(""), base)?),
            (false, None) => None,
            (false, Some(_)) => {
                return Err(format!("certificates and users take TLS: begin with {TLS}"));
            }
        };
        Ok(EtcdAddress { endpoints, key: format!("/{key}"), tls, text: text.to_owned() })
    }
}

impl EtcdTls {
    fn parse(query: &str, base: &Path) -> Result<EtcdTls, String> {
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
            .map_err(|error| format!("what follows `?` cannot be read: {error}"))?;
        let [mut ca, mut cert, mut key, mut user, mut password] = [const { None }; 5];
        for (name, value) in pairs {
            let place = match name.as_str() {
                "ca" => &mut ca,
                "cert" => &mut cert,
                "key" => &mut key,
                "user" => &mut user,
                "password-file" => &mut password,
                _ => {
                    return Err(format!(
                        "`{name}` means nothing after `?`: ca, cert, key, user, password-file"
                    ));
                }
            };
            if place.replace(value).is_some() {
                return Err(format!("`{name}` is there twice"));
            }
        }
        let file = |name: String| base.join(name);
        let pair = |one: Option<String>, other: Option<String>, names| match (one, other) {
            (Some(one), Some(other)) => Ok(Some((one, other))),
            (None, None) => Ok(None),
            _ => Err(format!("{names} go together")),
        };
        let identity = pair(cert, key, "`cert` and `key`")?;
        let user = pair(user, password, "`user` and `password-file`")?;
        Ok(EtcdTls {
            ca: ca.map(file),
            identity: identity.map(|(cert, key)| (file(cert), file(key))),
            user: user.map(|(user, password)| (user, file(password))),
        })
    }
}

impl fmt::Display for EtcdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<EtcdAddress, String> {
        EtcdAddress::parse(text, Path::new("/etc/slotcast"))
    }

    #[test]
    fn an_address_names_members_and_a_key() {
        let text = "etcd://10.0.0.9:2379,[::1]:2379/slotcast/main";
        let address = parse(text).expect("an address");
        assert_eq!(address.endpoints, ["10.0.0.9:2379", "[::1]:2379"]);
        assert_eq!((address.key.as_str(), address.tls.is_none()), ("/slotcast/main", true));
        assert_eq!(address.to_string(), text);
        for wrong in
            ["", "10.0.0.9:2379", "10.0.0.9:2379/", "10.0.0.9/a", ":1/a", "a:b/c", "a:1,/c"]
        {
            assert!(parse(&format!("etcd://{wrong}")).is_err(), "{wrong}");
        }
        assert!(parse("http://10.0.0.9:2379/a").is_err());
    }

    #[test]
    fn files_and_users_go_with_tls() {
        let text =
            "etcds://a:1/b?ca=ca.pem&cert=/c.pem&key=k.pem&user=slotcast&password-file=pass%20word";
        let address = parse(text).expect("an address");
        let place = |name: &str| PathBuf::from("/etc/slotcast").join(name);
        let tls = EtcdTls {
            ca: Some(place("ca.pem")),
            identity: Some(("/c.pem".into(), place("k.pem"))),
            user: Some(("slotcast".into(), place("pass word"))),
        };
        assert_eq!((address.tls.as_ref(), address.to_string().as_str()), (Some(&tls), text));
        assert_eq!(parse("etcds://a:1/b").expect("an address").tls, Some(EtcdTls::default()));
        for (wrong, says) in [
            ("etcd://a:1/b?ca=x", "etcds://"),
            ("etcds://a:1/b?cert=x", "go together"),
            ("etcds://a:1/b?user=x", "go together"),
            ("etcds://a:1/b?password=x", "password-file"),
            ("etcds://a:1/b?ca=x&ca=y", "twice"),
        ] {
            assert!(parse(wrong).is_err_and(|error| error.contains(says)), "{wrong}");
        }
    }
}
