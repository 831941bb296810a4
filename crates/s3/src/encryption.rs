//! Encryption as requests ask for it: with a key of the server (SSE-S3), or with one of their own (SSE-C).

use axum::http::{HeaderMap, HeaderName};
use data_encoding::BASE64;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::ServerSideEncryption;
use s3s::{S3Error, S3Request, S3Result, s3_error};
use slotcast_node::access::Peer;
use slotcast_node::{CustomerKey, Encrypt, Encryption};
use slotcast_object::Object;
use zeroize::Zeroizing;

use crate::gateway::Gateway;

/// The only algorithm that there is.
pub(crate) const AES256: &str = ServerSideEncryption::AES256;

const BY_SERVER: &str = "x-amz-server-side-encryption";
const KMS_KEY: &str = "x-amz-server-side-encryption-aws-kms-key-id";

/// Headers about a key of a customer: its algorithm, the key, and the MD5 of the key.
struct KeyHeaders([HeaderName; 3]);

const OF_OBJECT: KeyHeaders = KeyHeaders([
    HeaderName::from_static("x-amz-server-side-encryption-customer-algorithm"),
    HeaderName::from_static("x-amz-server-side-encryption-customer-key"),
    HeaderName::from_static("x-amz-server-side-encryption-customer-key-md5"),
]);

const OF_SOURCE: KeyHeaders = KeyHeaders([
    HeaderName::from_static("x-amz-copy-source-server-side-encryption-customer-algorithm"),
    HeaderName::from_static("x-amz-copy-source-server-side-encryption-customer-key"),
    HeaderName::from_static("x-amz-copy-source-server-side-encryption-customer-key-md5"),
]);

/// Nobody who shows the headers of a request shows the keys in it.
pub(crate) fn hide_keys(headers: &mut HeaderMap) {
    for KeyHeaders([_, name, _]) in [OF_OBJECT, OF_SOURCE] {
        if let Some(value) = headers.get_mut(name) {
            value.set_sensitive(true);
        }
    }
}

/// A key of a customer, as a request has it.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) key: CustomerKey,
    /// Its MD5 in Base64, which answers have.
    md5: String,
}

/// What a request wants of encryption.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    by_server: bool,
    pub(crate) customer: Option<Customer>,
}

impl Asked {
    /// Whether it says anything.
    pub(crate) fn is_any(&self) -> bool {
        self.by_server || self.customer.is_some()
    }

    /// How what it stores is encrypted.
    pub(crate) fn encrypt(&self) -> Encrypt {
        match &self.customer {
            Some(customer) => Encrypt::Customer(customer.key.clone()),
            None if self.by_server => Encrypt::Server,
            None => Encrypt::AsBucket,
        }
    }
}

/// The key of a customer in these headers, if there is one. It travels encrypted, or where nobody listens.
fn customer(
    headers: &HeaderMap,
    KeyHeaders([algorithm, key, md5]): &KeyHeaders,
    is_private: bool,
) -> S3Result<Option<Customer>> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let (algorithm, key, md5) = (text(algorithm), text(key), text(md5));
    if algorithm.is_none() && key.is_none() && md5.is_none() {
        return Ok(None);
    }
    if !is_private {
        return Err(s3_error!(
            InvalidRequest,
            "Requests specifying Server Side Encryption with Customer provided keys must be made over a secure connection."
        ));
    }
    match algorithm {
        Some(AES256) => {}
        Some(_) => {
            return Err(s3_error!(
                InvalidEncryptionAlgorithmError,
                "The encryption request you specified is not valid. The valid value is AES256."
            ));
        }
        None => {
            return Err(s3_error!(
                InvalidArgument,
                "Requests specifying Server Side Encryption with Customer provided keys must provide a valid encryption algorithm."
            ));
        }
    }
    let key = key.ok_or_else(|| {
        s3_error!(
            InvalidArgument,
            "Requests specifying Server Side Encryption with Customer provided keys must provide an appropriate secret key."
        )
    })?;
    let md5 = md5.ok_or_else(|| {
        s3_error!(
            InvalidArgument,
            "Requests specifying Server Side Encryption with Customer provided keys must provide the client calculated MD5 of the secret key."
        )
    })?;
    let invalid =
        || s3_error!(InvalidArgument, "The secret key was invalid for the specified algorithm.");
    let bytes = Zeroizing::new(BASE64.decode(key.as_bytes()).map_err(|_| invalid())?);
    let mut hash = Md5::new();
    hash.update(&bytes);
    let is_it = BASE64.decode(md5.as_bytes()).is_ok_and(|md5| md5 == hash.finalize());
    let key = <&[u8; 32]>::try_from(&bytes[..]).map(CustomerKey::new).map_err(|_| invalid())?;
    if !is_it {
        return Err(s3_error!(
            InvalidArgument,
            "The calculated MD5 hash of the key did not match the hash that was provided."
        ));
    }
    Ok(Some(Customer { key, md5: md5.to_owned() }))
}

/// Whether a request wants a key of the server, which is what it must say then.
fn by_server(headers: &HeaderMap) -> S3Result<bool> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    match (text(BY_SERVER), text(KMS_KEY)) {
        (None, None) => Ok(false),
        (Some(AES256), None) => Ok(true),
        (Some(method), _) if method.starts_with("aws:kms") => Err(no_kms()),
        (Some(AES256), Some(_)) => {
            Err(s3_error!(InvalidArgument, "A key of KMS cannot be used with AES256"))
        }
        (None, Some(_)) => Err(s3_error!(
            InvalidArgument,
            "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : aws:kms"
        )),
        (Some(_), _) => {
            Err(s3_error!(InvalidArgument, "The encryption method specified is not supported"))
        }
    }
}

pub(crate) fn no_kms() -> S3Error {
    s3_error!(NotImplemented, "Encryption with keys of KMS is not implemented: AES256 is")
}

/// Refuses a request that cannot say with what something is encrypted.
fn refuse_by_server(headers: &HeaderMap) -> S3Result<()> {
    match headers.contains_key(BY_SERVER) || headers.contains_key(KMS_KEY) {
        true => Err(s3_error!(
            InvalidArgument,
            "x-amz-server-side-encryption header is not supported for this operation."
        )),
        false => Ok(()),
    }
}

/// The object is encrypted with this key, or with none of a customer where there is none.
fn check_object(object: &Object, customer: Option<&Customer>) -> S3Result<()> {
    match (Encryption::of(object), customer) {
        (Some(encryption @ Encryption::Customer { .. }), Some(customer)) => {
            match encryption.is_with(&customer.key) {
                true => Ok(()),
                false => Err(s3_error!(AccessDenied, "Access Denied")),
            }
        }
        (Some(Encryption::Customer { .. }), None) => Err(s3_error!(
            InvalidRequest,
            "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object."
        )),
        (_, Some(_)) => Err(s3_error!(
            InvalidRequest,
            "The encryption parameters are not applicable to this object."
        )),
        (_, None) => Ok(()),
    }
}

/// A part has the key with which its upload began.
fn check_part(upload: &Object, customer: Option<&Customer>) -> S3Result<()> {
    match (Encryption::of(upload), customer) {
        (Some(encryption @ Encryption::Customer { .. }), Some(customer)) => {
            match encryption.is_with(&customer.key) {
                true => Ok(()),
                false => Err(s3_error!(
                    InvalidRequest,
                    "The provided encryption parameters did not match the ones used originally."
                )),
            }
        }
        (Some(Encryption::Customer { .. }), None) => Err(s3_error!(
            InvalidRequest,
            "The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate encryption parameters."
        )),
        (_, Some(_)) => Err(s3_error!(
            InvalidRequest,
            "The multipart upload initiate did not request encryption. Please resend the request without sending encryption parameters."
        )),
        (_, None) => Ok(()),
    }
}

impl Gateway {
    /// Whether what comes from there is read by nobody on the way; or whoever runs the node has said that this is all the
    /// same.
    fn is_private(&self, peer: Option<Peer>) -> bool {
        let is_private = |peer: Peer| peer.is_encrypted || peer.is_loopback();
        peer.is_some_and(is_private) || self.access.is_insecure()
    }

    /// What headers want of encryption that store something.
    pub(crate) fn encryption(&self, headers: &HeaderMap, peer: Option<Peer>) -> S3Result<Asked> {
        let customer = customer(headers, &OF_OBJECT, self.is_private(peer))?;
        if customer.is_some() && headers.contains_key(BY_SERVER) {
            return Err(s3_error!(
                InvalidArgument,
                "Server Side Encryption with Customer provided key is incompatible with the encryption method specified"
            ));
        }
        Ok(Asked { by_server: by_server(headers)?, customer })
    }

    /// The key with which a request reads an object that has it.
    pub(crate) fn key_to_read<T>(
        &self,
        request: &S3Request<T>,
        object: &Object,
    ) -> S3Result<Option<Customer>> {
        refuse_by_server(&request.headers)?;
        let is_private = self.is_private(request.extensions.get().copied());
        let customer = customer(&request.headers, &OF_OBJECT, is_private)?;
        check_object(object, customer.as_ref())?;
        Ok(customer)
    }

    /// The key of the source of a copy.
    pub(crate) fn key_of_source<T>(
        &self,
        request: &S3Request<T>,
        source: &Object,
    ) -> S3Result<Option<Customer>> {
        let is_private = self.is_private(request.extensions.get().copied());
        let customer = customer(&request.headers, &OF_SOURCE, is_private)?;
        check_object(source, customer.as_ref())?;
        Ok(customer)
    }

    /// The key with which a part is stored.
    pub(crate) fn key_of_part<T>(
        &self,
        request: &S3Request<T>,
        upload: &Object,
    ) -> S3Result<Option<Customer>> {
        refuse_by_server(&request.headers)?;
        let is_private = self.is_private(request.extensions.get().copied());
        let customer = customer(&request.headers, &OF_OBJECT, is_private)?;
        check_part(upload, customer.as_ref())?;
        Ok(customer)
    }
}

/// How something is encrypted, as answers have it.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) by_server: Option<ServerSideEncryption>,
    pub(crate) algorithm: Option<String>,
    pub(crate) md5: Option<String>,
}

/// How an object is encrypted, with the key of the request where it is with that.
pub(crate) fn told(object: &Object, customer: Option<&Customer>) -> Told {
    match (Encryption::of(object), customer) {
        (Some(Encryption::Server { .. }), _) => {
            Told { by_server: Some(ServerSideEncryption::from_static(AES256)), ..Told::default() }
        }
        (Some(Encryption::Customer { .. }), Some(customer)) => Told {
            algorithm: Some(AES256.into()),
            md5: Some(customer.md5.clone()),
            ..Told::default()
        },
        _ => Told::default(),
    }
}

/// Puts that into an answer.
macro_rules! show_encryption {
    ($output:expr, $object:expr, $customer:expr) => {{
        let told = $crate::encryption::told($object, $customer);
        $output.server_side_encryption = told.by_server;
        $output.sse_customer_algorithm = told.algorithm;
        $output.sse_customer_key_md5 = told.md5;
    }};
}
pub(crate) use show_encryption;

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    fn md5_of(key: &str) -> String {
        let mut hash = Md5::new();
        hash.update(&BASE64.decode(key.as_bytes()).expect("Base64"));
        BASE64.encode(&hash.finalize())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("text"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn keys_of_customers_come_whole_and_in_private() {
        let [algorithm, key, md5] = OF_OBJECT.0.map(|name| &*name.as_str().to_owned().leak());
        let read = |pairs: &[(&'static str, &str)], is_private| match customer(
            &headers(pairs),
            &OF_OBJECT,
            is_private,
        ) {
            Ok(found) => found.map_or("none".to_owned(), |found| found.md5),
            Err(error) => error.code().as_str().to_owned(),
        };
        let of_key = md5_of(KEY);
        let whole = [(algorithm, "AES256"), (key, KEY), (md5, &of_key[..])];
        assert_eq!(read(&[], false), "none");
        assert_eq!(read(&whole, true), of_key);
        assert_eq!(read(&whole, false), "InvalidRequest");
        for left_out in 0..3 {
            let mut some = whole.to_vec();
            some.remove(left_out);
            assert_eq!(read(&some, true), "InvalidArgument", "{left_out}");
        }
        let other = [(algorithm, "AES128"), whole[1], whole[2]];
        assert_eq!(read(&other, true), "InvalidEncryptionAlgorithmError");
        assert_eq!(read(&[whole[0], whole[1], (md5, "AAAA")], true), "InvalidArgument");
        let short = "AQEBAQ==";
        let of_short = md5_of(short);
        assert_eq!(read(&[whole[0], (key, short), (md5, &of_short)], true), "InvalidArgument");
        let mut shown = headers(&whole);
        hide_keys(&mut shown);
        assert!(!format!("{shown:?}").contains(KEY), "it is a secret");
        let found = customer(&headers(&whole), &OF_OBJECT, true);
        assert!(!format!("{found:?}").contains(KEY), "it is a secret");
    }

    #[test]
    fn keys_of_the_server_are_asked_for_in_one_way() {
        let said = |pairs: &[(&'static str, &str)]| match by_server(&headers(pairs)) {
            Ok(is_asked) => is_asked.to_string(),
            Err(error) => error.code().as_str().to_owned(),
        };
        assert_eq!([said(&[]), said(&[(BY_SERVER, "AES256")])], ["false", "true"]);
        for kms in ["aws:kms", "aws:kms:dsse"] {
            assert_eq!(said(&[(BY_SERVER, kms), (KMS_KEY, "x")]), "NotImplemented");
        }
        for wrong in
            [&[(BY_SERVER, "aes")][..], &[(KMS_KEY, "x")], &[(BY_SERVER, "AES256"), (KMS_KEY, "x")]]
        {
            assert_eq!(said(wrong), "InvalidArgument", "{wrong:?}");
        }
    }
}
