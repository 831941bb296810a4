//! Who is told of changes in a bucket: rules that name webhooks of the operator.

use s3s::dto::{
    Event, EventBridgeConfiguration, FilterRule, FilterRuleName,
    GetBucketNotificationConfigurationInput, GetBucketNotificationConfigurationOutput,
    LambdaFunctionConfiguration, NotificationConfigurationFilter,
    PutBucketNotificationConfigurationInput, PutBucketNotificationConfigurationOutput,
    QueueConfiguration, S3KeyFilter, TopicConfiguration,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};
use slotcast_node::access::Caller;
use slotcast_node::{Cause, new_key};
use slotcast_object::Settings;
use slotcast_object::notification::{EventKind, NotificationForm, NotificationRule};

use crate::errors::{malformed_xml, of_object};
use crate::gateway::Gateway;
use crate::names::{bucket_name, request_key};

/// The most rules of a bucket, as AWS documents it.
const MAX_RULES: usize = 100;

/// The most letters of the name of a rule, and of a prefix or a suffix.
const MAX_ID: usize = 255;
const MAX_END: usize = 1024;

/// The number of a request, as its answer has it.
#[derive(Debug, Clone)]
pub(crate) struct RequestNumber(pub(crate) String);

/// Why an object changes by a request.
pub(crate) fn cause<T>(request: &S3Request<T>, kind: EventKind) -> Cause {
    let number = request.extensions.get::<RequestNumber>();
    Cause {
        kind,
        caller: request.extensions.get::<Caller>().cloned(),
        request: number.map(|number| number.0.clone()),
    }
}

/// The webhook that an ARN means: `arn:slotcast:sqs::NAME:webhook`, with `minio` as well, and any region.
fn webhook_of(arn: &str) -> S3Result<&str> {
    let mut parts = arn.split(':');
    let mut next = || parts.next().unwrap_or("");
    let (begin, partition, service, _, name, kind) =
        (next(), next(), next(), next(), next(), next());
    let is_one = begin == "arn"
        && ["slotcast", "minio"].contains(&partition)
        && service == "sqs"
        && kind == "webhook"
        && parts.next().is_none();
    match begin {
        _ if is_one => Ok(name),
        "arn" => Err(no_destination()),
        _ => Err(s3_error!(InvalidArgument, "The ARN is not well formed")),
    }
}

fn no_destination() -> S3Error {
    s3_error!(InvalidArgument, "Unable to validate the following destination configurations")
}

/// The prefix and the suffix that a filter says.
fn ends(
    filter: Option<&NotificationConfigurationFilter>,
) -> S3Result<(Option<String>, Option<String>)> {
    let rules = filter.and_then(|filter| filter.key.as_ref()?.filter_rules.as_deref());
    let (mut prefix, mut suffix) = (None, None);
    for FilterRule { name, value } in rules.unwrap_or_default() {
        let name = name.as_ref().map(|name| name.as_str().to_lowercase());
        let end = match name.as_deref() {
            Some("prefix") => &mut prefix,
            Some("suffix") => &mut suffix,
            _ => {
                return Err(s3_error!(
                    InvalidArgument,
                    "filter rule name must be either prefix or suffix"
                ));
            }
        };
        let value = value.clone().unwrap_or_default();
        if value.len() > MAX_END {
            return Err(s3_error!(
                InvalidArgument,
                "Size of filter rule value cannot exceed {MAX_END} bytes in UTF-8 representation"
            ));
        }
        if end.replace(value).is_some() {
            return Err(s3_error!(
                InvalidArgument,
                "Cannot specify more than one {} rule in a filter.",
                name.unwrap_or_default()
            ));
        }
    }
    Ok((prefix, suffix))
}

/// What was put of a rule.
type Said<'a> =
    (Option<&'a String>, &'a str, &'a [Event], Option<&'a NotificationConfigurationFilter>);

fn rule_of(
    form: NotificationForm,
    (id, arn, events, filter): Said<'_>,
) -> S3Result<NotificationRule> {
    if events.is_empty() {
        return Err(malformed_xml());
    }
    let events: Vec<String> = events.iter().map(|event| String::from(event.clone())).collect();
    let is_known = |event: &String| EventKind::ALL.into_iter().any(|kind| kind.is_meant_by(event));
    if !events.iter().all(is_known) {
        return Err(s3_error!(InvalidArgument, "The event is not supported for notifications"));
    }
    let id = match id.filter(|id| !id.is_empty()) {
        Some(id) if id.chars().count() > MAX_ID || id.chars().any(char::is_control) => {
            return Err(s3_error!(
                InvalidArgument,
                "The id of a configuration has at most {MAX_ID} letters"
            ));
        }
        Some(id) => id.clone(),
        None => format!("{:032x}", new_key().map_err(of_object)?.0),
    };
    let (prefix, suffix) = ends(filter)?;
    let webhook = webhook_of(arn)?.to_owned();
    Ok(NotificationRule { id, arn: arn.to_owned(), webhook, form, events, prefix, suffix })
}

/// Refuses rules that cannot be followed together.
fn check(rules: &[NotificationRule]) -> S3Result<()> {
    if rules.len() > MAX_RULES {
        return Err(s3_error!(InvalidArgument, "A bucket has at most {MAX_RULES} configurations"));
    }
    for (place, rule) in rules.iter().enumerate() {
        let others = &rules[..place];
        if others.iter().any(|other| other.id == rule.id) {
            return Err(s3_error!(
                InvalidArgument,
                "Same ID used for multiple configurations. IDs must be unique"
            ));
        }
        if others.iter().any(|other| other.overlaps(rule)) {
            return Err(s3_error!(
                InvalidArgument,
                "Configurations overlap. Configurations on the same bucket cannot share a common event type."
            ));
        }
    }
    Ok(())
}

fn rules_of(input: &PutBucketNotificationConfigurationInput) -> S3Result<Vec<NotificationRule>> {
    use NotificationForm::{Function, Queue, Topic};
    let said = &input.notification_configuration;
    if matches!(said.event_bridge_configuration, Some(EventBridgeConfiguration {})) {
        return Err(s3_error!(NotImplemented, "Events of EventBridge are not implemented"));
    }
    let queues =
        said.queue_configurations.iter().flatten().map(|of| {
            rule_of(Queue, (of.id.as_ref(), &of.queue_arn, &of.events, of.filter.as_ref()))
        });
    let topics =
        said.topic_configurations.iter().flatten().map(|of| {
            rule_of(Topic, (of.id.as_ref(), &of.topic_arn, &of.events, of.filter.as_ref()))
        });
    let functions = said.lambda_function_configurations.iter().flatten().map(|of| {
        rule_of(Function, (of.id.as_ref(), &of.lambda_function_arn, &of.events, of.filter.as_ref()))
    });
    queues.chain(topics).chain(functions).collect()
}

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutBucketNotificationConfigurationInput>,
) -> S3Result<S3Response<PutBucketNotificationConfigurationOutput>> {
    let (key, bucket) = (request_key(&request)?, bucket_name(&request.input.bucket)?);
    gateway.bucket(&request.input.bucket).await?;
    let rules = rules_of(&request.input)?;
    check(&rules)?;
    if !rules.iter().all(|rule| gateway.objects.has_webhook(&rule.webhook)) {
        return Err(no_destination());
    }
    if request.input.skip_destination_validation != Some(true) {
        let number = request.extensions.get::<RequestNumber>();
        let number = number.map_or("", |number| &number.0);
        let mut webhooks: Vec<&str> = rules.iter().map(|rule| &rule.webhook[..]).collect();
        webhooks.sort_unstable();
        webhooks.dedup();
        for webhook in webhooks {
            let tested = gateway.objects.test_webhook(webhook, (&bucket, number)).await;
            if let Err(reason) = tested {
                tracing::warn!(
                    webhook,
                    reason,
                    "it does not take a test: it is not to be told anything"
                );
                return Err(no_destination());
            }
        }
    }
    let change = |settings: &mut Settings| {
        // What was announced before is told all the same.
        if !rules.is_empty() || settings.notifications.is_some() {
            settings.notifications = Some(rules.clone());
        }
    };
    gateway.set(&request.input.bucket, key, change).await?;
    Ok(S3Response::new(PutBucketNotificationConfigurationOutput::default()))
}

fn filter_of(rule: &NotificationRule) -> Option<NotificationConfigurationFilter> {
    let one = |name: &'static str, value: &Option<String>| {
        let mut one = FilterRule::default();
        one.name = Some(FilterRuleName::from_static(name));
        one.value = Some(value.clone()?);
        Some(one)
    };
    let both = [one("prefix", &rule.prefix), one("suffix", &rule.suffix)];
    let rules: Vec<FilterRule> = both.into_iter().flatten().collect();
    (!rules.is_empty()).then(|| {
        let mut key = S3KeyFilter::default();
        key.filter_rules = Some(rules);
        NotificationConfigurationFilter { key: Some(key) }
    })
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetBucketNotificationConfigurationInput>,
) -> S3Result<S3Response<GetBucketNotificationConfigurationOutput>> {
    let rules = gateway.settings(&request.input.bucket).await?.notifications.unwrap_or_default();
    let (mut queues, mut topics, mut functions) = (Vec::new(), Vec::new(), Vec::new());
    for rule in rules {
        let filter = filter_of(&rule);
        let NotificationRule { id, arn, form, events, .. } = rule;
        let (id, events) = (Some(id), events.into_iter().map(Event::from).collect());
        match form {
            NotificationForm::Queue => {
                queues.push(QueueConfiguration { id, events, filter, queue_arn: arn });
            }
            NotificationForm::Topic => {
                topics.push(TopicConfiguration { id, events, filter, topic_arn: arn });
            }
            NotificationForm::Function => {
                let lambda_function_arn = arn;
                functions.push(LambdaFunctionConfiguration {
                    id,
                    events,
                    filter,
                    lambda_function_arn,
                });
            }
        }
    }
    let mut output = GetBucketNotificationConfigurationOutput::default();
    output.queue_configurations = (!queues.is_empty()).then_some(queues);
    output.topic_configurations = (!topics.is_empty()).then_some(topics);
    output.lambda_function_configurations = (!functions.is_empty()).then_some(functions);
    Ok(S3Response::new(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arns_name_webhooks() {
        let of = |arn| webhook_of(arn).map_err(|error| error.message().unwrap_or("").to_owned());
        assert_eq!(of("arn:slotcast:sqs::a:webhook"), Ok("a"));
        assert_eq!(of("arn:minio:sqs:us-east-1:a-b:webhook"), Ok("a-b"));
        for other in [
            "arn:aws:sqs:us-east-1:1:queue",
            "arn:minio:sqs::a:nats",
            "arn:minio:sqs::a:webhook:x",
            "arn",
        ] {
            assert!(of(other).is_err_and(|text| text.starts_with("Unable to validate")), "{other}");
        }
        assert!(of("webhook").is_err_and(|text| text.contains("not well formed")));
    }
}
