//! What is understood of documents, and what is refused.

use slotcast_policy::*;

const BUCKET: &str = "photos";

/// A policy of the bucket whose only statement has these keys in place of others, or beside them.
fn of_bucket(more: &str) -> Result<Policy, String> {
    let keys = [
        ("\"Effect\"", r#""Effect": "Allow""#),
        ("\"Principal\"", r#""Principal": "*""#),
        ("Action\"", r#""Action": "s3:GetObject""#),
        ("Resource\"", r#""Resource": "arn:aws:s3:::photos/*""#),
    ];
    let rest: Vec<&str> =
        keys.iter().filter(|(key, _)| !more.contains(key)).map(|(_, text)| *text).collect();
    let both = [&rest[..], &[more][..]].concat();
    let both: Vec<&str> = both.into_iter().filter(|text| !text.is_empty()).collect();
    let text = format!(r#"{{"Statement": [{{{}}}]}}"#, both.join(", "));
    Policy::of_bucket(&text, BUCKET).map_err(|error| error.to_string())
}

fn refused(more: &str) -> String {
    of_bucket(more).expect_err(more)
}

#[test]
fn what_is_not_understood_is_refused_and_named() {
    assert!(of_bucket("").is_ok());
    for (more, said) in [
        (r#""Effect": "allow""#, "unknown variant `allow`"),
        (r#""Principals": "*", "Principal": "*""#, "unknown field `Principals`"),
        (r#""NotPrincipal": "*", "Principal": "*""#, "unknown field `NotPrincipal`"),
        (r#""Principal": "ann""#, "and not \"ann\""),
        (r#""Principal": {"Service": "x"}"#, "and not `Service`"),
        (
            r#""Principal": {"AWS": ["*", "arn:aws:iam::123:root"]}"#,
            "`arn:aws:iam::123:root` is no user",
        ),
        (r#""Principal": {"AWS": []}"#, "names nobody"),
        (r#""Action": "s3:GetObjekt""#, "`s3:GetObjekt` is no action"),
        (r#""Action": "slotcast:GetContent""#, "is no action on a bucket"),
        (r#""Action": []"#, "Action names nothing"),
        (r#""Action": "s3:*", "NotAction": "s3:*""#, "exclude each other"),
        (r#""Resource": "*""#, "no resource of this bucket"),
        (r#""Resource": "arn:aws:s3:::photos2/*""#, "no resource of this bucket"),
        (r#""Resource": "arn:aws:s3:::photo*""#, "no resource of this bucket"),
        (r#""Resource": "arn:aws:s3:::photos/${aws:username}""#, "variables are not understood"),
        (
            r#""Condition": {"DateLessThan": {"aws:CurrentTime": "x"}}"#,
            "DateLessThan is not understood",
        ),
        (r#""Condition": {"StringEqualsIfExists": {"s3:prefix": "x"}}"#, "is not understood"),
        (r#""Condition": {"StringEquals": {"aws:username": "x"}}"#, "and not of `aws:username`"),
        (r#""Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/33"}}"#, "is no network"),
        (r#""Condition": {"IpAddress": {"aws:SourceIp": []}}"#, "has no value"),
        (r#""Condition": {"Bool": {"aws:SecureTransport": "yes"}}"#, "is true or false"),
        (
            r#""Condition": {"Bool": {"aws:SecureTransport": ["true", "false"]}}"#,
            "is true or false",
        ),
        (
            r#""Condition": {"Bool": {"aws:SecureTransport": "true"}, "Bool": {"aws:SecureTransport": "false"}}"#,
            "`Bool` is there twice",
        ),
    ] {
        let error = refused(more);
        assert!(error.contains(said), "{more}: {error}");
    }
}

#[test]
fn what_is_there_twice_is_refused_and_not_overridden() {
    let statement = r#"{"Effect": "Deny", "Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::photos"}"#;
    let error = Policy::of_bucket(&format!(r#"{{"Statement": {statement}}}"#), BUCKET);
    let error = error.expect_err("twice").to_string();
    assert!(error.contains("duplicate field `Effect`"), "{error}");
    let error = Policy::of_user(r#"{"Statement": [], "Statement": []}"#).expect_err("twice");
    assert!(error.to_string().contains("duplicate field"), "{error}");
}

#[test]
fn documents_have_a_version_a_statement_and_a_bound() {
    let user = |text: &str| Policy::of_user(text).map_err(|error| error.to_string());
    assert!(user("").is_err() && user("[]").is_err() && user("{}").is_err());
    assert_eq!(user(r#"{"Statement": []}"#), Err("the policy has no statement".into()));
    let version = user(r#"{"Version": "2012-10-18", "Statement": []}"#).expect_err("no version");
    assert!(version.contains("2012-10-18"), "{version}");
    let long = format!(r#"{{"Id": "{}", "Statement": []}}"#, "x".repeat(MAX_DOCUMENT));
    assert!(matches!(Policy::of_user(&long), Err(PolicyError::Long(_))));
    let deep = "[".repeat(10_000);
    assert!(user(&deep).is_err() && user(&format!(r#"{{"Statement": {deep}"#)).is_err());
    let whose =
        r#"{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}}"#;
    assert!(user(whose).is_err_and(|error| error.contains("Principal")));
    let none = r#"{"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::photos"}}"#;
    let error = Policy::of_bucket(none, BUCKET).expect_err("for whom");
    assert_eq!(error.to_string(), "statement 1: Principal is missing: \"*\" is everybody");
}

#[test]
fn canned_policies_are_policies() {
    for (name, _, document) in CANNED {
        assert!(Policy::of_user(document).is_ok(), "{name}");
        assert_eq!(canned(name), Some(document));
    }
    assert_eq!(canned("root"), None);
    let may = |name: &str, action, resource| {
        let policy = Policy::of_user(canned(name).expect("it is there")).expect("it is one");
        let request =
            Request { who: Who::User("u"), action, resource, context: Context::default() };
        decide([&policy], &request) == Decision::Allowed
    };
    let object = "arn:aws:s3:::b/k";
    for (name, get, put, delete, users) in [
        ("readwrite", true, true, true, false),
        ("readonly", true, false, false, false),
        ("writeonly", false, true, false, false),
        ("admin", true, true, true, true),
    ] {
        assert_eq!(may(name, "s3:GetObject", object), get, "{name}");
        assert_eq!(may(name, "s3:PutObject", object), put, "{name}");
        assert_eq!(may(name, "s3:DeleteObject", object), delete, "{name}");
        assert_eq!(may(name, "slotcast:ManageUsers", "arn:slotcast:::user/x"), users, "{name}");
    }
}

#[test]
fn public_is_what_everybody_may_do_from_everywhere() {
    let is_public = |more: &str| of_bucket(more).expect(more).is_public();
    assert!(is_public(""));
    assert!(is_public(r#""Principal": {"AWS": ["*"]}"#));
    assert!(is_public(r#""Condition": {"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}"#));
    assert!(is_public(r#""Condition": {"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}}"#));
    assert!(!is_public(r#""Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}"#));
    assert!(!is_public(r#""Principal": {"AWS": "arn:aws:iam:::user/ann"}"#));
    assert!(!is_public(r#""Effect": "Deny""#));
}

#[test]
fn conditions_hold_of_what_is_known_of_a_request() {
    let holds = |condition: &str, context: Context<'_>| {
        let more = format!(
            r#""Action": "s3:ListBucket", "Resource": "arn:aws:s3:::photos", "Condition": {condition}"#
        );
        let policy = of_bucket(&more).expect(condition);
        let (action, resource) = ("s3:ListBucket", "arn:aws:s3:::photos");
        let request = Request { who: Who::Anonymous, action, resource, context };
        decide([&policy], &request) == Decision::Allowed
    };
    let from = |text: &str| Context { source: text.parse().ok(), ..Context::default() };
    let inside = r#"{"IpAddress": {"aws:sourceip": ["10.0.0.0/8", "::1"]}}"#;
    assert!(holds(inside, from("10.1.2.3")) && holds(inside, from("::1")));
    assert!(!holds(inside, from("11.1.2.3")) && !holds(inside, Context::default()));
    let outside = r#"{"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}}"#;
    assert!(!holds(outside, from("10.1.2.3")) && holds(outside, from("11.1.2.3")));
    let list = |prefix| Context { prefix, ..Context::default() };
    let home = r#"{"StringLike": {"s3:prefix": ["", "home/*"]}}"#;
    assert!(holds(home, list(Some("home/ann"))) && holds(home, list(None)));
    assert!(!holds(home, list(Some("etc"))));
    let exact = r#"{"StringEquals": {"s3:prefix": "home/*"}}"#;
    assert!(!holds(exact, list(Some("home/ann"))) && holds(exact, list(Some("home/*"))));
    let other = r#"{"StringNotLike": {"s3:prefix": "home/*"}}"#;
    assert!(!holds(other, list(Some("home/ann"))) && holds(other, list(Some("etc"))));
    let encrypted = |is_encrypted| Context { is_encrypted, ..Context::default() };
    let only = r#"{"Bool": {"aws:SecureTransport": true}}"#;
    assert!(holds(only, encrypted(true)) && !holds(only, encrypted(false)));
    let never = r#"{"Bool": {"aws:SecureTransport": "false"}}"#;
    assert!(!holds(never, encrypted(true)) && holds(never, encrypted(false)));
    // All of several have to hold.
    let both =
        r#"{"Bool": {"aws:SecureTransport": "true"}, "IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}"#;
    assert!(!holds(both, from("10.0.0.1")));
    assert!(holds(both, Context { is_encrypted: true, ..from("10.0.0.1") }));
}
