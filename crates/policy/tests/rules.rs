//! Rules that hold of all policies and all requests: a denial wins over every permission, what nobody mentions is not
//! allowed, and the order of statements and policies has no effect.

use proptest::prelude::*;
use slotcast_policy::*;

/// A statement, as its words.
#[derive(Debug, Clone)]
struct Words {
    allows: bool,
    is_action: bool,
    action: &'static str,
    is_resource: bool,
    resource: String,
    user: Option<&'static str>,
    encrypted: Option<bool>,
}

const ACTION_PATTERNS: [&str; 6] =
    ["s3:GetObject", "s3:PutObject", "s3:Get*", "s3:*Object", "s3:*", "*"];
const WANTED: [&str; 4] =
    ["s3:GetObject", "s3:PutObject", "s3:GetObjectTagging", "s3:DeleteObject"];
const USERS: [&str; 2] = ["ann", "bob"];

fn words() -> impl Strategy<Value = Words> {
    let whom = prop::option::of(prop::sample::select(&USERS[..]));
    let what = (any::<bool>(), prop::sample::select(&ACTION_PATTERNS[..]));
    let with = (any::<bool>(), "/(\\*|[ab]\\*?|[ab][ab])");
    (any::<bool>(), what, with, whom, prop::option::of(any::<bool>())).prop_map(
        |(allows, (is_action, action), (is_resource, path), user, encrypted)| Words {
            allows,
            is_action,
            action,
            is_resource,
            resource: format!("arn:aws:s3:::b{path}"),
            user,
            encrypted,
        },
    )
}

fn document(statements: &[Words]) -> Policy {
    let one = |words: &Words| {
        let Words { allows, is_action, action, is_resource, resource, user, encrypted } = words;
        let effect = if *allows { "Allow" } else { "Deny" };
        let not = |is_one: &bool| if *is_one { "" } else { "Not" };
        let whom = user
            .map_or("\"*\"".into(), |user| format!("{{\"AWS\": \"arn:aws:iam:::user/{user}\"}}"));
        let condition = encrypted.map_or(String::new(), |is| {
            format!(", \"Condition\": {{\"Bool\": {{\"aws:SecureTransport\": {is}}}}}")
        });
        format!(
            "{{\"Effect\": \"{effect}\", \"Principal\": {whom}, \"{}Action\": \"{action}\", \
             \"{}Resource\": \"{resource}\"{condition}}}",
            not(is_action),
            not(is_resource)
        )
    };
    let all: Vec<String> = statements.iter().map(one).collect();
    let text = format!("{{\"Statement\": [{}]}}", all.join(", "));
    Policy::of_bucket(&text, "b").unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The rule in words that share nothing with the code.
fn says(
    words: &Words,
    (user, action, path, is_encrypted): (Option<&str>, &str, &str, bool),
) -> bool {
    let fits = |pattern: &str, text: &str| match pattern.split_once('*') {
        None => pattern == text,
        Some((begin, end)) => {
            text.len() >= begin.len() + end.len() && text.starts_with(begin) && text.ends_with(end)
        }
    };
    words.user.is_none_or(|name| user == Some(name))
        && fits(words.action, action) == words.is_action
        && fits(&words.resource, &format!("arn:aws:s3:::b/{path}")) == words.is_resource
        && words.encrypted.is_none_or(|encrypted| encrypted == is_encrypted)
}

type Asked = (Option<&'static str>, &'static str, String, bool);

fn asked() -> impl Strategy<Value = Asked> {
    let whom = prop::option::of(prop::sample::select(&USERS[..]));
    (whom, prop::sample::select(&WANTED[..]), "[ab]{1,3}", any::<bool>())
}

fn decided<'a>(policies: impl IntoIterator<Item = &'a Policy>, asked: &Asked) -> Decision {
    let (user, action, path, is_encrypted) = asked;
    let resource = format!("arn:aws:s3:::b/{path}");
    let context = Context { is_encrypted: *is_encrypted, ..Context::default() };
    let who = user.map_or(Who::Anonymous, Who::User);
    decide(policies, &Request { who, action, resource: &resource, context })
}

proptest! {
    #[test]
    fn a_decision_is_what_the_rule_says(
        statements in prop::collection::vec(words(), 1..6),
        asked in asked(),
    ) {
        let (user, action, path, is_encrypted) = &asked;
        let about = (*user, *action, &path[..], *is_encrypted);
        let said: Vec<bool> =
            statements.iter().filter(|words| says(words, about)).map(|words| words.allows).collect();
        let expected = match (said.contains(&false), said.contains(&true)) {
            (true, _) => Decision::Denied,
            (false, true) => Decision::Allowed,
            (false, false) => Decision::NotAllowed,
        };
        prop_assert_eq!(decided([&document(&statements)], &asked), expected);
    }

    #[test]
    fn order_has_no_effect_and_denials_only_take_away(
        statements in prop::collection::vec(words(), 2..6),
        more in words(),
        asked in asked(),
    ) {
        let before = decided([&document(&statements)], &asked);
        let reversed: Vec<Words> = statements.iter().rev().cloned().collect();
        prop_assert_eq!(decided([&document(&reversed)], &asked), before);
        // In one document or in several.
        let (first, rest) = statements.split_at(1);
        let several = [document(rest), document(first)];
        prop_assert_eq!(decided(&several, &asked), before);
        let with = |allows| document(&[&statements[..], &[Words { allows, ..more.clone() }]].concat());
        let (allowed, denied) = (decided([&with(true)], &asked), decided([&with(false)], &asked));
        prop_assert!(denied != Decision::Allowed || before == Decision::Allowed);
        prop_assert_eq!(allowed == Decision::Denied, before == Decision::Denied);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}", bucket in "[a-z]{3,9}") {
        let _ = Policy::of_user(&text);
        let _ = Policy::of_bucket(&text, &bucket);
    }
}
