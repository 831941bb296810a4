use alloc::string::ToString;

use super::*;

fn place(bucket: &str, prefix: &str) -> Place {
    Place { bucket: bucket.into(), prefix: prefix.into() }
}

fn copy() -> JobText {
    JobText {
        kind: Kind::Copy,
        from: place("a", "x/"),
        select: Selection::All,
        to: Some(place("b", "y/")),
        existing: Existing::Replace,
        check: true,
        started: 7,
        by: "ann".into(),
    }
}

fn transform(suffix: &str) -> Transform {
    Transform {
        command: "cat".into(),
        suffix: suffix.into(),
        timeout_ms: 1000,
        cpu_s: 1,
        memory: 1 << 30,
        network: false,
    }
}

#[test]
fn outputs_have_names_that_follow_from_those_of_their_objects() {
    assert_eq!(copy().output("x/1/2").as_deref(), Some("y/1/2"));
    assert_eq!(copy().output("z"), None);
    let text = JobText { kind: Kind::Transform(transform(".sha")), ..copy() };
    assert_eq!(text.output("x/1").as_deref(), Some("y/1.sha"));
    let globbed = JobText { select: Selection::Glob("*.jpg".into()), ..copy() };
    assert!(
        globbed.selects("x/a.jpg") && !globbed.selects("x/a/b.jpg") && !globbed.selects("a.jpg")
    );
    let deep = JobText { select: Selection::Glob("a/b*".into()), ..copy() };
    assert_eq!(deep.listed_prefix(), "x/a/b");
}

#[test]
fn what_makes_no_job_is_refused_with_the_reason() {
    let refused = |text: JobText| text.check().expect_err("it makes no job").to_string();
    assert_eq!(copy().check(), Ok(()));
    assert!(refused(JobText { to: None, ..copy() }).contains("slot://BUCKET/PREFIX"));
    assert!(refused(JobText { kind: Kind::Delete, ..copy() }).contains("no outputs"));
    for to in ["x/", "", "x/y", "x"] {
        assert!(
            refused(JobText { to: Some(place("a", to)), ..copy() }).contains("selected"),
            "{to}"
        );
    }
    assert_eq!(JobText { to: Some(place("a", "y/")), ..copy() }.check(), Ok(()));
    let select = Selection::Template("{2..1}".into());
    assert!(refused(JobText { select, ..copy() }).contains("no range"));
    let kind = Kind::Transform(Transform { command: " ".into(), ..transform("") });
    assert!(refused(JobText { kind, ..copy() }).contains("empty"));
    let kind = Kind::Transform(Transform { memory: 0, ..transform("") });
    assert!(refused(JobText { kind, ..copy() }).contains("memory"));
    let kind = Kind::Transform(Transform { command: "x".repeat(MAX_TEXT), ..transform("") });
    assert!(refused(JobText { kind, ..copy() }).contains("bytes as text"));
}

#[test]
fn texts_are_read_as_they_are_written_and_never_in_part() {
    let text = JobText { kind: Kind::Transform(transform(".x")), ..copy() };
    assert_eq!(JobText::read(text.write().as_bytes()), Some(text.clone()));
    let least = r#"{"kind":"delete","from":{"bucket":"a"}}"#;
    let read = JobText::read(least.as_bytes()).expect("it is read");
    assert!(read.check && read.select == Selection::All && read.existing == Existing::Replace);
    // A later version wants something of its nodes that this one does not know.
    let more = text.write().replacen('{', "{\"more\":1,", 1);
    assert_eq!(JobText::read(more.as_bytes()), None);
}

#[test]
fn another_command_has_another_digest() {
    let base = transform(".x");
    assert_eq!(base.digest(), Transform { cpu_s: 9, ..base.clone() }.digest());
    let split = Transform { command: "cat.".into(), suffix: "x".into(), ..base.clone() };
    assert_ne!(base.digest(), split.digest());
}
