//! Policies, as they are understood.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::actions::names_any;
use crate::condition::Condition;
use crate::decide::{Request, Who};
use crate::document::{self, Document, Effect, Principal, Texts};
use crate::pattern::matches;

/// The most bytes of a document, as AWS has it for buckets.
pub const MAX_DOCUMENT: usize = 20 << 10;

/// What names of buckets and of objects in them begin with: `arn:aws:s3:::bucket`, `arn:aws:s3:::bucket/key`.
pub const BUCKET_ARN: &str = "arn:aws:s3:::";

/// What names of things of a node begin with that are no buckets: `arn:slotcast:::content/ADDRESS`,
/// `arn:slotcast:::user/NAME`, `arn:slotcast:::node`.
pub const NODE_ARN: &str = "arn:slotcast:::";

/// What users are called in the policy of a bucket: `arn:aws:iam:::user/NAME`.
pub const USER_ARN: &str = "arn:aws:iam:::user/";

/// The versions of the form of documents. They differ in variables only, which are refused anyway.
const VERSIONS: [&str; 2] = ["2012-10-17", "2008-10-17"];

/// Why something is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It is too long.
    #[error("the policy has {0} bytes; {MAX_DOCUMENT} are the most")]
    Long(usize),
    /// It does not have the form of a policy.
    #[error("the policy cannot be read: {0}")]
    Form(String),
    /// It is of a version that is not known.
    #[error("Version is \"2012-10-17\", and not \"{0}\"")]
    Version(String),
    /// It says nothing.
    #[error("the policy has no statement")]
    Empty,
    /// One of its statements, counted from 1, is wrong.
    #[error("statement {0}: {1}")]
    Statement(usize, String),
}

/// Whom a policy belongs to.
#[derive(Debug, Clone, Copy)]
enum Owner<'a> {
    User,
    Bucket(&'a str),
}

/// A document that was read and understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub(crate) statements: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) effect: Effect,
    who: Principals,
    actions: Patterns,
    resources: Patterns,
    conditions: Vec<Condition>,
}

/// Whom a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Principals {
    Everybody,
    Users(Vec<String>),
}

/// What a statement is about: what fits one of these, or what fits none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Patterns {
    texts: Vec<String>,
    is_one: bool,
}

impl Patterns {
    fn fit(&self, text: &str, ignores_case: bool) -> bool {
        self.texts.iter().any(|pattern| matches(pattern, text, ignores_case)) == self.is_one
    }
}

impl Policy {
    /// The policy of a user that `text` says.
    ///
    /// # Errors
    /// If something in it is not understood.
    pub fn of_user(text: &str) -> Result<Policy, PolicyError> {
        Policy::read(text, Owner::User)
    }

    /// The policy of a bucket that `text` says.
    ///
    /// # Errors
    /// If something in it is not understood, or it is about something else.
    pub fn of_bucket(text: &str, bucket: &str) -> Result<Policy, PolicyError> {
        Policy::read(text, Owner::Bucket(bucket))
    }

    fn read(text: &str, owner: Owner<'_>) -> Result<Policy, PolicyError> {
        if text.len() > MAX_DOCUMENT {
            return Err(PolicyError::Long(text.len()));
        }
        let document: Document =
            serde_json::from_str(text).map_err(|error| PolicyError::Form(error.to_string()))?;
        if let Some(version) = document.version.filter(|v| !VERSIONS.contains(&v.as_str())) {
            return Err(PolicyError::Version(version));
        }
        let statements = document.statement.0;
        if statements.is_empty() {
            return Err(PolicyError::Empty);
        }
        let read = |(place, statement): (usize, document::Statement)| {
            Statement::read(statement, owner)
                .map_err(|message| PolicyError::Statement(place + 1, message))
        };
        let statements = statements.into_iter().enumerate().map(read);
        Ok(Policy { statements: statements.collect::<Result<_, _>>()? })
    }

    /// Whether it allows something to everybody, from wherever they ask.
    pub fn is_public(&self) -> bool {
        self.statements.iter().any(|statement| {
            statement.effect == Effect::Allow
                && statement.who == Principals::Everybody
                && !statement.conditions.iter().any(Condition::restricts_addresses)
        })
    }
}

impl Statement {
    fn read(statement: document::Statement, owner: Owner<'_>) -> Result<Statement, String> {
        let document::Statement {
            effect,
            principal,
            action,
            not_action,
            resource,
            not_resource,
            condition,
            ..
        } = statement;
        let who = match (owner, principal) {
            (Owner::User, None) => Principals::Everybody,
            (Owner::User, Some(_)) => {
                return Err(
                    "Principal is for policies of buckets: this one belongs to a user".into()
                );
            }
            (Owner::Bucket(_), Some(principal)) => principals(principal)?,
            (Owner::Bucket(_), None) => {
                return Err("Principal is missing: \"*\" is everybody".into());
            }
        };
        let actions = one_of("Action", action, not_action)?;
        actions.texts.iter().try_for_each(|text| check_action(text, owner))?;
        let resources = one_of("Resource", resource, not_resource)?;
        resources.texts.iter().try_for_each(|text| check_resource(text, owner))?;
        let mut conditions = Vec::new();
        for (operator, keys) in condition.map(|pairs| pairs.0).unwrap_or_default() {
            for (key, values) in keys.0 {
                conditions.push(Condition::read(&operator, &key, values)?);
            }
        }
        Ok(Statement { effect, who, actions, resources, conditions })
    }

    /// Whether it says anything of this request.
    pub(crate) fn counts(&self, request: &Request<'_>) -> bool {
        let Request { who, action, resource, context } = request;
        let is_meant = match (&self.who, who) {
            (Principals::Everybody, _) => true,
            (Principals::Users(users), Who::User(name)) => users.iter().any(|user| user == name),
            (Principals::Users(_), Who::Anonymous) => false,
        };
        is_meant
            && self.actions.fit(action, true)
            && self.resources.fit(resource, false)
            && self.conditions.iter().all(|condition| condition.holds(context))
    }
}

/// What `Action` or `NotAction`, or the same of resources, says.
fn one_of(key: &str, some: Option<Texts>, none: Option<Texts>) -> Result<Patterns, String> {
    let patterns = match (some, none) {
        (Some(Texts(texts)), None) => Patterns { texts, is_one: true },
        (None, Some(Texts(texts))) => Patterns { texts, is_one: false },
        (None, None) => return Err(format!("{key} is missing")),
        (Some(_), Some(_)) => return Err(format!("{key} and Not{key} exclude each other")),
    };
    match patterns.texts.is_empty() {
        true => Err(format!("{key} names nothing")),
        false => Ok(patterns),
    }
}

fn principals(principal: Principal) -> Result<Principals, String> {
    let kinds = match principal {
        Principal::Text(text) if text == "*" => return Ok(Principals::Everybody),
        Principal::Text(text) => {
            return Err(format!("Principal is \"*\" or {{\"AWS\": …}}, and not \"{text}\""));
        }
        Principal::Kinds(kinds) => kinds.0,
    };
    let (mut users, mut is_everybody) = (Vec::new(), false);
    for (kind, Texts(texts)) in kinds {
        if kind != "AWS" {
            return Err(format!("principals are of the kind AWS, and not `{kind}`"));
        }
        for text in texts {
            if text == "*" {
                is_everybody = true;
                continue;
            }
            let name = text.strip_prefix(USER_ARN).unwrap_or(&text);
            if name.is_empty() || name.contains([':', '/', '*', '?']) {
                return Err(format!("`{text}` is no user: write {USER_ARN}NAME"));
            }
            users.push(name.to_string());
        }
    }
    match (is_everybody, users.is_empty()) {
        (true, _) => Ok(Principals::Everybody),
        (false, true) => Err("Principal names nobody".into()),
        (false, false) => Ok(Principals::Users(users)),
    }
}

fn check_action(text: &str, owner: Owner<'_>) -> Result<(), String> {
    if !names_any(text) {
        return Err(format!("`{text}` is no action that is known"));
    }
    let is_of_s3 =
        text == "*" || text.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("s3:"));
    match owner {
        Owner::Bucket(_) if !is_of_s3 => {
            Err(format!("`{text}` is no action on a bucket: these begin with s3:"))
        }
        _ => Ok(()),
    }
}

fn check_resource(text: &str, owner: Owner<'_>) -> Result<(), String> {
    if text.contains("${") {
        return Err(format!("variables are not understood, as in `{text}`"));
    }
    match owner {
        Owner::User => {
            let is_known =
                text == "*" || text.starts_with(BUCKET_ARN) || text.starts_with(NODE_ARN);
            let wrong = || {
                format!(
                    "`{text}` is no resource: write {BUCKET_ARN}BUCKET/KEY, or * for everything"
                )
            };
            is_known.then_some(()).ok_or_else(wrong)
        }
        Owner::Bucket(bucket) => {
            let rest = text.strip_prefix(BUCKET_ARN).and_then(|rest| rest.strip_prefix(bucket));
            match rest {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => Ok(()),
                _ => Err(format!(
                    "`{text}` is no resource of this bucket: write {BUCKET_ARN}{bucket} for itself and \
                     {BUCKET_ARN}{bucket}/* for its objects"
                )),
            }
        }
    }
}
