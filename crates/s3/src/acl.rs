//! Lists of rights, as AWS has them where the owner of a bucket owns all objects: they say that the owner may do everything,
//! and nothing else can be said.

use axum::http::HeaderMap;
use s3s::dto::{
    AccessControlPolicy, GetBucketAclInput, GetBucketAclOutput, GetObjectAclInput,
    GetObjectAclOutput, Grant, Grantee, Permission, PutBucketAclInput, PutBucketAclOutput,
    PutObjectAclInput, PutObjectAclOutput, Type,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};

use crate::buckets::{OWNER, owner};
use crate::gateway::Gateway;

/// Canned lists that say what is so anyway.
const OWNERS: [&str; 3] = ["private", "bucket-owner-full-control", "bucket-owner-read"];

/// Those that open something to the public.
const PUBLIC: [&str; 3] = ["public-read", "public-read-write", "authenticated-read"];

/// All others that AWS has.
const OTHERS: [&str; 2] = ["aws-exec-read", "log-delivery-write"];

const GRANTS: [&str; 5] = [
    "x-amz-grant-full-control",
    "x-amz-grant-read",
    "x-amz-grant-read-acp",
    "x-amz-grant-write",
    "x-amz-grant-write-acp",
];

const ALL_USERS: &str = "http://acs.amazonaws.com/groups/global/";

fn not_supported() -> S3Error {
    s3_error!(AccessControlListNotSupported, "The bucket does not allow ACLs")
}

/// Whether the headers of a request say something about rights that is not so.
fn says_more(headers: &HeaderMap) -> S3Result<bool> {
    let acl = headers.get("x-amz-acl").map(|value| value.to_str().unwrap_or(""));
    if let Some(acl) = acl
        && ![&OWNERS[..], &PUBLIC, &OTHERS].iter().any(|known| known.contains(&acl))
    {
        return Err(s3_error!(InvalidArgument, "x-amz-acl is not one of the canned ACLs"));
    }
    let is_granted = GRANTS.iter().any(|name| headers.contains_key(*name));
    if is_granted && acl.is_some() {
        return Err(s3_error!(
            InvalidRequest,
            "Specifying both Canned ACLs and Header Grants is not allowed"
        ));
    }
    Ok(is_granted || acl.is_some_and(|acl| !OWNERS.contains(&acl)))
}

/// Refuses rights of others.
pub(crate) fn check(headers: &HeaderMap) -> S3Result<()> {
    if says_more(headers)? { Err(not_supported()) } else { Ok(()) }
}

/// Whether the headers, or a grant, open something to the public.
fn is_public(headers: &HeaderMap, grants: &[Grant]) -> bool {
    let is_canned = headers.get("x-amz-acl").and_then(|acl| acl.to_str().ok());
    let names_all = |name: &&str| {
        headers
            .get(*name)
            .is_some_and(|value| value.to_str().is_ok_and(|text| text.contains(ALL_USERS)))
    };
    is_canned.is_some_and(|acl| PUBLIC.contains(&acl))
        || GRANTS.iter().any(names_all)
        || grants
            .iter()
            .filter_map(|grant| grant.grantee.as_ref()?.uri.as_deref())
            .any(|uri| uri.starts_with(ALL_USERS))
}

/// Refuses a list that says something else than what is so.
fn check_list(policy: &AccessControlPolicy) -> S3Result<()> {
    let Some(grants) = policy.grants.as_ref().filter(|_| policy.owner.is_some()) else {
        let message = "The XML you provided was not well-formed or did not validate against our published schema";
        return Err(S3Error::with_message(s3s::S3ErrorCode::MalformedACLError, message));
    };
    let is_owner = policy.owner.as_ref().and_then(|owner| owner.id.as_deref()) == Some(OWNER);
    let is_same = |grant: &Grant| {
        let grantee = grant.grantee.as_ref();
        grantee.is_some_and(|grantee| grantee.id.as_deref() == Some(OWNER))
            && grant
                .permission
                .as_ref()
                .is_some_and(|permission| permission.as_str() == Permission::FULL_CONTROL)
    };
    match is_owner && matches!(&grants[..], [grant] if is_same(grant)) {
        true => Ok(()),
        false => Err(not_supported()),
    }
}

impl Gateway {
    /// Whether a request that sets rights sets those that are there.
    async fn check_rights(
        &self,
        bucket: &str,
        headers: &HeaderMap,
        policy: Option<&AccessControlPolicy>,
    ) -> S3Result<()> {
        let settings = self.settings(bucket).await?;
        let grants = policy.and_then(|policy| policy.grants.as_deref()).unwrap_or(&[]);
        if settings.public_access.is_some_and(|access| access.blocks_acls)
            && is_public(headers, grants)
        {
            return Err(s3_error!(
                AccessDenied,
                "Access Denied: public ACLs are blocked by the BlockPublicAcls setting"
            ));
        }
        let is_said = headers.contains_key("x-amz-acl")
            || GRANTS.iter().any(|name| headers.contains_key(*name));
        match (is_said, policy) {
            (true, Some(_)) => {
                Err(s3_error!(UnexpectedContent, "This request does not support content"))
            }
            (true, None) => check(headers),
            (false, Some(policy)) => check_list(policy),
            (false, None) => Err(s3_error!(
                MissingSecurityHeader,
                "Your request was missing a required header: x-amz-acl"
            )),
        }
    }
}

pub(crate) async fn put_of_bucket(
    gateway: &Gateway,
    request: S3Request<PutBucketAclInput>,
) -> S3Result<S3Response<PutBucketAclOutput>> {
    let PutBucketAclInput { bucket, access_control_policy, .. } = &request.input;
    gateway.check_rights(bucket, &request.headers, access_control_policy.as_ref()).await?;
    Ok(S3Response::new(PutBucketAclOutput::default()))
}

pub(crate) async fn put_of_object(
    gateway: &Gateway,
    request: S3Request<PutObjectAclInput>,
) -> S3Result<S3Response<PutObjectAclOutput>> {
    let PutObjectAclInput { bucket, key, version_id, access_control_policy, .. } = &request.input;
    gateway.find(bucket, key, version_id.as_deref()).await?;
    gateway.check_rights(bucket, &request.headers, access_control_policy.as_ref()).await?;
    Ok(S3Response::new(PutObjectAclOutput::default()))
}

/// The only right that there is: that of the owner.
fn grants() -> Vec<Grant> {
    let grantee = Grantee {
        display_name: Some(OWNER.into()),
        email_address: None,
        id: Some(OWNER.into()),
        type_: Type::from_static(Type::CANONICAL_USER),
        uri: None,
    };
    let mut grant = Grant::default();
    grant.grantee = Some(grantee);
    grant.permission = Some(Permission::from_static(Permission::FULL_CONTROL));
    vec![grant]
}

pub(crate) async fn of_bucket(
    gateway: &Gateway,
    request: S3Request<GetBucketAclInput>,
) -> S3Result<S3Response<GetBucketAclOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    let mut output = GetBucketAclOutput::default();
    (output.grants, output.owner) = (Some(grants()), Some(owner()));
    Ok(S3Response::new(output))
}

pub(crate) async fn of_object(
    gateway: &Gateway,
    request: S3Request<GetObjectAclInput>,
) -> S3Result<S3Response<GetObjectAclOutput>> {
    let GetObjectAclInput { bucket, key, version_id, .. } = &request.input;
    gateway.find(bucket, key, version_id.as_deref()).await?;
    let mut output = GetObjectAclOutput::default();
    (output.grants, output.owner) = (Some(grants()), Some(owner()));
    Ok(S3Response::new(output))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn rights_of_others_are_refused_and_what_is_no_right_too() {
        let checked = |pairs: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let headers: HeaderMap = pairs.iter().map(pair).collect();
            check(&headers).map_err(|error| error.code().as_str().to_owned())
        };
        let refused = |code: &str| Err(code.to_owned());
        assert_eq!(checked(&[]), Ok(()));
        assert_eq!(checked(&[("x-amz-acl", "private")]), Ok(()));
        assert_eq!(
            checked(&[("x-amz-acl", "public-read")]),
            refused("AccessControlListNotSupported")
        );
        assert_eq!(
            checked(&[("x-amz-grant-read", "id=1")]),
            refused("AccessControlListNotSupported")
        );
        assert_eq!(checked(&[("x-amz-acl", "open")]), refused("InvalidArgument"));
        let both = [("x-amz-acl", "private"), ("x-amz-grant-read", "id=1")];
        assert_eq!(checked(&both), refused("InvalidRequest"));
    }

    #[test]
    fn the_list_that_is_there_can_be_put_again() {
        let list = |grants, owner| {
            let mut policy = AccessControlPolicy::default();
            (policy.grants, policy.owner) = (grants, owner);
            check_list(&policy).map_err(|error| error.code().as_str().to_owned())
        };
        assert_eq!(list(Some(grants()), Some(owner())), Ok(()));
        assert_eq!(list(Some(grants()), None), Err("MalformedACLError".into()));
        assert_eq!(list(None, Some(owner())), Err("MalformedACLError".into()));
        let mut other = grants();
        other[0].permission = Some(Permission::from_static(Permission::READ));
        assert_eq!(list(Some(other), Some(owner())), Err("AccessControlListNotSupported".into()));
    }
}
