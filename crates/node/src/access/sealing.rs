//! How secret keys are kept: sealed with a master key (ChaCha20-Poly1305, RFC 8439).
//!
//! Signatures are checked with the secret key itself, so a hash of it is not enough. What is sealed is bound to its access
//! key and its user: put in the place of another one it cannot be opened.

use data_encoding::BASE64;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::keys::Secret;
use super::master_keys::MasterKeys;

fn key_of(bytes: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, bytes).expect("32 bytes are a key"))
}

impl MasterKeys {
    /// `secret`, for nobody but whoever has these keys.
    pub(crate) fn seal(&self, secret: &Secret, whose: &Whose<'_>) -> std::io::Result<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        let mut sealed = secret.expose().as_bytes().to_vec();
        let about = Nonce::assume_unique_for_key(nonce);
        let key = key_of(self.first().1);
        let done = key.seal_in_place_append_tag(about, whose.bound(), &mut sealed);
        done.map_err(|_| std::io::Error::other("the secret key cannot be sealed"))?;
        Ok(BASE64.encode(&[&nonce[..], &sealed].concat()))
    }

    /// The secret that was sealed, if it was with one of these keys and for this pair.
    pub(crate) fn open(&self, sealed: &str, whose: &Whose<'_>) -> Option<Secret> {
        let bytes = BASE64.decode(sealed.as_bytes()).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        self.iter().find_map(|(_, key)| {
            let mut sealed = Zeroizing::new(sealed.to_vec());
            let about = Nonce::assume_unique_for_key(*nonce);
            let opened = key_of(key).open_in_place(about, whose.bound(), &mut sealed).ok()?;
            str::from_utf8(opened).ok().map(|text| Secret::new(text.to_owned()))
        })
    }
}

/// Whose secret it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) user: &'a str,
    pub(crate) access: &'a str,
}

impl Whose<'_> {
    /// No two pairs give the same: neither part has a line break.
    fn bound(&self) -> Aad<Vec<u8>> {
        Aad::from(format!("slotcast user key 1\n{}\n{}", self.user, self.access).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_opened_with_its_key_and_in_its_place_only() {
        let key = |digit: &str| MasterKeys::read(&digit.repeat(64)).expect("a key");
        let secret = Secret::new("kept".into());
        let ann = Whose { user: "ann", access: "AKIA1" };
        let sealed = key("a").seal(&secret, &ann).expect("random numbers");
        assert!(!sealed.contains("kept") && sealed != key("a").seal(&secret, &ann).expect("again"));
        let opened = |digit: &str, whose: Whose<'_>| {
            key(digit).open(&sealed, &whose).map(|secret| secret.expose().to_owned())
        };
        assert_eq!(opened("a", ann), Some("kept".into()));
        assert_eq!(opened("b", ann), None);
        assert_eq!(opened("a", Whose { user: "bob", ..ann }), None);
        assert_eq!(opened("a", Whose { access: "AKIA2", ..ann }), None);
        assert!(key("a").open("", &ann).is_none() && key("a").open("!", &ann).is_none());
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let rotated = MasterKeys::read(&format!("2 {b}\n1 {a}")).expect("two keys");
        assert!(rotated.open(&sealed, &ann).is_some_and(|secret| secret.is("kept")));
        assert!(key("a").open(&rotated.seal(&secret, &ann).expect("again"), &ann).is_none());
    }
}
