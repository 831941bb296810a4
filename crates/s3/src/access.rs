//! Who may do what: keys of users for signatures, and policies for operations.

use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::{
    CopyObjectInput, CopySource, DeleteObjectsInput, ObjectIdentifier, PostObjectInput,
    UploadPartCopyInput,
};
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result, s3_error};
use slotcast_node::access::{Access, AccessError, Caller, Peer, Rule};
use slotcast_node::audit::{AuditSlot, Audited};
use slotcast_policy::BUCKET_ARN;

use crate::actions::{self, Action, BY_HEADER, On};
use crate::delete::check_number;
use crate::errors::of_object;

/// Asks who signs, and whether they may.
#[derive(Debug, Clone)]
pub(crate) struct Gate(pub(crate) Access);

/// Objects that a request names and that its caller may not delete.
#[derive(Debug, Clone)]
pub(crate) struct Kept(pub(crate) Vec<ObjectIdentifier>);

fn of_access(error: AccessError) -> S3Error {
    match error {
        AccessError::Names(error) => of_object(error),
        error => {
            tracing::error!(%error, "a key cannot be used");
            S3Error::with_message(S3ErrorCode::InternalError, error.to_string())
        }
    }
}

fn no_such_key() -> S3Error {
    s3_error!(
        InvalidAccessKeyId,
        "The AWS Access Key Id you provided does not exist in our records."
    )
}

#[async_trait::async_trait]
impl S3Auth for Gate {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        let known = self.0.key(access_key).await.map_err(of_access)?.ok_or_else(no_such_key)?;
        Ok(SecretKey::from(known.secret.expose()))
    }
}

/// What a query says of a key. The library takes one that is there twice for one that is not there.
fn once(query: &[(String, String)], key: &str) -> S3Result<Option<String>> {
    let mut values = query.iter().filter(|(known, _)| known == key).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(s3_error!(InvalidArgument, "The query parameter {key} is there twice")),
        (value, None) => Ok(value.cloned()),
    }
}

impl Gate {
    async fn caller(&self, cx: &mut S3AccessContext<'_>) -> S3Result<Caller> {
        let peer = cx.extensions_mut().get::<Peer>().copied();
        let peer = peer.ok_or_else(|| S3Error::new(S3ErrorCode::InternalError))?;
        let Some(credentials) = cx.credentials() else { return Ok(self.0.anonymous(peer)) };
        let known = self.0.key(&credentials.access_key).await.map_err(of_access)?;
        Ok(known.ok_or_else(no_such_key)?.caller(peer))
    }

    async fn must(
        &self,
        caller: &Caller,
        what: (&str, &str),
        prefix: Option<&str>,
    ) -> S3Result<()> {
        must_allow(&self.0, caller, what, prefix).await
    }

    /// Whether whoever sent this request may read what it copies.
    async fn must_read<T>(&self, request: &S3Request<T>, source: &CopySource) -> S3Result<()> {
        let CopySource::Bucket { bucket, key, version_id } = source else {
            return Err(s3_error!(NotImplemented, "Access points are not implemented yet"));
        };
        let action = if version_id.is_some() { "s3:GetObjectVersion" } else { "s3:GetObject" };
        let resource = format!("{BUCKET_ARN}{bucket}/{key}");
        self.must(caller_of(request)?, (action, &resource), None).await
    }
}

/// Refuses whoever may not do this.
pub(crate) async fn must_allow(
    access: &Access,
    caller: &Caller,
    (action, resource): (&str, &str),
    prefix: Option<&str>,
) -> S3Result<()> {
    match access.allows(caller, (action, resource), prefix).await.map_err(of_object)? {
        true => Ok(()),
        false if caller.is_anonymous() => Err(s3_error!(AccessDenied, "Access Denied")),
        false => {
            let name = caller.name();
            let message =
                format!("User: {name} is not authorized to perform: {action} on: {resource}");
            Err(S3Error::with_message(S3ErrorCode::AccessDenied, message))
        }
    }
}

/// Refuses everybody but the root.
fn must_be_root(caller: &Caller) -> S3Result<()> {
    match caller.may_everything() {
        true => Ok(()),
        false => Err(s3_error!(AccessDenied, "Access Denied")),
    }
}

/// Who sent a request that was let in.
fn caller_of<T>(request: &S3Request<T>) -> S3Result<&Caller> {
    request.extensions.get().ok_or_else(|| s3_error!(AccessDenied, "Access Denied"))
}

#[async_trait::async_trait]
impl S3Access for Gate {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let caller = self.caller(cx).await?;
        cx.extensions_mut().insert(caller.clone());
        if let Some(slot) = cx.extensions_mut().get::<AuditSlot>().cloned() {
            slot.say(Audited {
                user: caller.name().to_owned(),
                operation: cx.s3_op().name().to_owned(),
                resource: match cx.s3_path() {
                    S3Path::Root => format!("{BUCKET_ARN}*"),
                    S3Path::Bucket { bucket } => format!("{BUCKET_ARN}{bucket}"),
                    S3Path::Object { bucket, key } => format!("{BUCKET_ARN}{bucket}/{key}"),
                },
            });
        }
        let Some(Action { action, of_version, on }) = actions::of(cx.s3_op().name()) else {
            // Of what is not known nothing can be allowed. The root is told that it is not there.
            return must_be_root(&caller);
        };
        let query: Vec<(String, String)> =
            serde_urlencoded::from_str(cx.uri().query().unwrap_or("")).unwrap_or_default();
        if caller.is_anonymous() && query.iter().any(|(key, _)| key.starts_with("response-")) {
            // A link that anybody can write would make a page of what somebody else has stored.
            return Err(s3_error!(
                InvalidRequest,
                "Request specific response headers cannot be used for anonymous GET requests."
            ));
        }
        let (version, prefix) = (once(&query, "versionId")?, once(&query, "prefix")?);
        let resource = match (cx.s3_path(), on) {
            (S3Path::Root, On::Buckets) => format!("{BUCKET_ARN}*"),
            // Whoever may do it with none of the objects is told so for each. Somebody unknown does not send a list of them
            // where nothing is open.
            (S3Path::Bucket { bucket }, On::Named) => {
                let is_open = !caller.is_anonymous()
                    || !self.0.rule_of(bucket).await.map_err(of_object)?.is_closed();
                let closed = || s3_error!(AccessDenied, "Access Denied");
                return is_open.then_some(()).ok_or_else(closed);
            }
            (S3Path::Bucket { bucket }, On::Bucket | On::Names) => format!("{BUCKET_ARN}{bucket}"),
            (S3Path::Object { bucket, key }, On::Object) => format!("{BUCKET_ARN}{bucket}/{key}"),
            _ => return must_be_root(&caller),
        };
        let prefix = (on == On::Names).then(|| prefix.unwrap_or_default());
        let action = if version.is_some() { of_version } else { action };
        self.must(&caller, (action, &resource), prefix.as_deref()).await?;
        for (header, action) in BY_HEADER.iter().filter(|_| on == On::Object) {
            if cx.headers().contains_key(*header) {
                self.must(&caller, (action, &resource), None).await?;
            }
        }
        Ok(())
    }

    async fn copy_object(&self, request: &mut S3Request<CopyObjectInput>) -> S3Result<()> {
        self.must_read(request, &request.input.copy_source).await
    }

    async fn upload_part_copy(&self, request: &mut S3Request<UploadPartCopyInput>) -> S3Result<()> {
        self.must_read(request, &request.input.copy_source).await
    }

    /// Forms never come to the library, which would store them without asking whether their sender may: see `post`.
    async fn post_object(&self, _: &mut S3Request<PostObjectInput>) -> S3Result<()> {
        Err(s3_error!(AccessDenied, "Access Denied"))
    }

    /// Objects that may not be deleted are taken out of the request, and kept beside it.
    async fn delete_objects(&self, request: &mut S3Request<DeleteObjectsInput>) -> S3Result<()> {
        let caller = caller_of(request)?.clone();
        let bypasses = request.headers.contains_key(BY_HEADER[0].0);
        check_number(request.input.delete.objects.len())?;
        let rule = match caller.may_everything() {
            true => Rule::None,
            false => self.0.rule_of(&request.input.bucket).await.map_err(of_object)?,
        };
        let (mut allowed, mut kept) = (Vec::new(), Vec::new());
        for object in std::mem::take(&mut request.input.delete.objects) {
            let resource = format!("{BUCKET_ARN}{}/{}", request.input.bucket, object.key);
            let is_version = object.version_id.as_ref().is_some_and(|text| !text.is_empty());
            let action = if is_version { "s3:DeleteObjectVersion" } else { "s3:DeleteObject" };
            let may = |action| rule.allows(&caller, (action, &resource), None);
            match may(action) && (!bypasses || may(BY_HEADER[0].1)) {
                true => allowed.push(object),
                false => kept.push(object),
            }
        }
        request.input.delete.objects = allowed;
        request.extensions.insert(Kept(kept));
        Ok(())
    }
}
