//! Settings of buckets over S3: lists of rights, ownership, what is closed to the public.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use signed::S3;

#[test]
fn the_owner_has_all_rights_and_nobody_gets_others() {
    let (_folder, s3) = S3::fresh();
    s3.done("PUT /first/a", &[("x-amz-acl", "bucket-owner-full-control")], b"x");
    let no_acl = (400, "AccessControlListNotSupported".to_owned());
    for line in ["PUT /first?acl", "PUT /first/a?acl"] {
        s3.done(line, &[("x-amz-acl", "private")], b"");
        assert_eq!(s3.refused(line, &[("x-amz-acl", "public-read")], b""), no_acl, "{line}");
        assert_eq!(s3.refused(line, &[("x-amz-grant-read", "id=1")], b""), no_acl, "{line}");
        let there = s3.done(&line.replace("PUT", "GET"), &[], b"").body;
        s3.done(line, &[], &there);
        let other = String::from_utf8(there).expect("text").replace("FULL_CONTROL", "READ");
        assert_eq!(s3.refused(line, &[], other.as_bytes()), no_acl, "{line}");
        let none = s3.refused(line, &[], b"");
        assert_eq!(none, (400, "MissingSecurityHeader".into()), "{line}");
    }
    assert_eq!(s3.refused("PUT /first/b", &[("x-amz-acl", "public-read")], b""), no_acl);
    let wrong = s3.refused("PUT /first/b", &[("x-amz-acl", "open")], b"");
    assert_eq!(wrong, (400, "InvalidArgument".into()));
    assert_eq!(s3.refused("PUT /first/none?acl", &[("x-amz-acl", "private")], b"").0, 404);
}

#[test]
fn ownership_is_that_of_the_bucket() {
    let (_folder, s3) = S3::fresh();
    let line = "GET /first?ownershipControls";
    assert_eq!(s3.done(line, &[], b"").text("ObjectOwnership"), "BucketOwnerEnforced");
    let said = |what: &str| {
        format!(
            "<OwnershipControls><Rule><ObjectOwnership>{what}</ObjectOwnership></Rule></OwnershipControls>"
        )
    };
    assert_eq!(s3.done("DELETE /first?ownershipControls", &[], b"").status(), 204);
    assert_eq!(s3.refused(line, &[], b""), (404, "OwnershipControlsNotFoundError".into()));
    let put = "PUT /first?ownershipControls";
    s3.done(put, &[], said("BucketOwnerEnforced").as_bytes());
    assert_eq!(s3.done(line, &[], b"").text("ObjectOwnership"), "BucketOwnerEnforced");
    let told = s3.refused(put, &[], said("ObjectWriter").as_bytes());
    assert_eq!(told, (501, "NotImplemented".into()));
    let told = s3.refused("PUT /other", &[("x-amz-object-ownership", "ObjectWriter")], b"");
    assert_eq!(told, (501, "NotImplemented".into()));
}

#[test]
fn what_is_closed_to_the_public_stays_so_whatever_policies_say() {
    let (_folder, s3) = S3::fresh();
    let line = "GET /first?publicAccessBlock";
    let none = (404, "NoSuchPublicAccessBlockConfiguration".to_owned());
    assert_eq!(s3.refused(line, &[], b""), none);
    let close = |policy: bool, restrict: bool| {
        let text = format!(
            "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls>\
             <BlockPublicPolicy>{policy}</BlockPublicPolicy>\
             <RestrictPublicBuckets>{restrict}</RestrictPublicBuckets></PublicAccessBlockConfiguration>"
        );
        s3.done("PUT /first?publicAccessBlock", &[], text.as_bytes());
    };
    close(true, false);
    let said = s3.done(line, &[], b"");
    assert_eq!([said.text("BlockPublicPolicy"), said.text("IgnorePublicAcls")], ["true", "false"]);
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(s3.refused("PUT /first?acl", &[("x-amz-acl", "public-read")], b""), denied);
    let policy = r#"{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::first/*"}}"#;
    assert_eq!(s3.refused("PUT /first?policy", &[], policy.as_bytes()), denied);
    close(false, false);
    s3.done("PUT /first?policy", &[], policy.as_bytes());
    s3.done("PUT /first/a", &[], b"x");
    let anybody = || {
        let text =
            format!("GET /first/a HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", s3.address);
        s3.send(text.as_bytes()).status()
    };
    assert_eq!(anybody(), 200);
    close(false, true);
    assert_eq!(anybody(), 403);
    s3.done("DELETE /first?publicAccessBlock", &[], b"");
    assert_eq!(anybody(), 200);
    assert_eq!(s3.refused(line, &[], b""), none);
}

#[test]
fn what_cannot_be_set_is_not_there() {
    let (_folder, s3) = S3::fresh();
    for (what, code) in [
        ("encryption", "ServerSideEncryptionConfigurationNotFoundError"),
        ("replication", "ReplicationConfigurationNotFoundError"),
        ("website", "NoSuchWebsiteConfiguration"),
    ] {
        assert_eq!(s3.refused(&format!("GET /first?{what}"), &[], b""), (404, code.into()));
        assert_eq!(s3.done(&format!("DELETE /first?{what}"), &[], b"").status(), 204);
        let missing = s3.refused(&format!("GET /none-such?{what}"), &[], b"");
        assert_eq!(missing, (404, "NoSuchBucket".into()));
    }
    for what in ["logging", "accelerate", "notification"] {
        let said = s3.done(&format!("GET /first?{what}"), &[], b"");
        assert_eq!(said.texts("TargetBucket").len() + said.texts("Status").len(), 0, "{said:?}");
    }
    let log = b"<BucketLoggingStatus xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";
    let told = s3.refused("PUT /first?logging", &[], log);
    assert_eq!(told, (501, "NotImplemented".into()));
    let other = [("x-amz-expected-bucket-owner", "123456789012")];
    assert_eq!(s3.refused("GET /first", &other, b""), (403, "AccessDenied".into()));
}
