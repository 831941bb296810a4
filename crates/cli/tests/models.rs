//! Every key of every model can be given in a file, by `--set` and in a sweep, is explained, and its wrong
//! values are refused in the same words.

mod support;

use miette::Diagnostic;
use slotcast_lab::InputError;
use slotcast_lab::setting::{CLUSTER, Described, Settings, Value, needed};
use support::{file, slotcast};

fn models() -> [&'static dyn Settings; 5] {
    [
        &CLUSTER,
        slotcast_plan::SETTINGS,
        slotcast_lustre::SETTINGS,
        slotcast_stripes::SETTINGS,
        slotcast_networks::SETTINGS,
    ]
}

/// A file that gives `setting` the value `text`, which is as in a file.
fn with(setting: &Described, text: &str) -> String {
    let header = match setting.is_in_blocks {
        true => format!("[[{}]]", setting.section()),
        false => format!("[{}]", setting.section()),
    };
    format!("{header}\n{} = {text}\n", setting.name())
}

/// `value` as in a file.
fn written(setting: &Described, value: Value) -> String {
    if setting.kind.is_quoted() { format!("\"{value}\"") } else { value.to_string() }
}

/// What `text` and `overrides` give `setting`.
fn given(
    settings: &'static dyn Settings,
    setting: &Described,
    text: &str,
    overrides: &[String],
) -> Result<Vec<Value>, Box<InputError>> {
    let given = settings.given("x.toml", text, overrides)?;
    Ok(given.into_iter().find(|(key, _)| *key == setting.key).expect("every key").1)
}

/// The message of `error`, what it points at, and its help.
fn said(error: &InputError) -> String {
    let labels = error.labels().into_iter().flatten();
    let labels: Vec<_> = labels.filter_map(|label| label.label().map(str::to_owned)).collect();
    let help = error.help().map(|help| help.to_string()).unwrap_or_default();
    format!("{error} | {} | {help}", labels.join(" "))
}

#[test]
fn every_key_is_set_by_files_arguments_and_sweeps() {
    for settings in models() {
        for setting in settings.described() {
            let key = setting.key;
            let of = |text: &str, overrides: &[String]| {
                given(settings, &setting, text, overrides)
                    .unwrap_or_else(|error| panic!("{key}: {}", said(&error)))
            };
            // In a file that has none of them, an argument has no block to set.
            let empty = if setting.is_in_blocks { "[[job]]\n" } else { "" };
            let values = setting.kind.examples();
            for &value in &values {
                assert_eq!(of(&with(&setting, &written(&setting, value)), &[]), [value], "{key}");
                assert_eq!(of(empty, &[format!("{key}={value}")]), [value], "{key}");
            }
            let list: Vec<_> = values.iter().map(|value| written(&setting, *value)).collect();
            let sweep = format!("[[sweep]]\n{key} = [{}]\n", list.join(", "));
            match setting.can_be_swept() {
                true => assert_eq!(of(&sweep, &[]), values, "{key}"),
                false => {
                    let error = given(settings, &setting, &sweep, &[]).expect_err(key);
                    assert!(said(&error).contains("cannot be swept"), "{}", said(&error));
                }
            }
            // An argument goes before the file, and chooses a point of its sweep.
            let last = values[values.len() - 1];
            let text = with(&setting, &written(&setting, values[0]));
            assert_eq!(of(&text, &[format!("{key}={last}")]), [last], "{key}");
            if setting.can_be_swept() {
                let sweep = format!("{empty}{sweep}");
                assert_eq!(of(&sweep, &[format!("{key}={last}")]), [last], "{key}");
            }
        }
    }
}

#[test]
fn a_wrong_value_of_any_key_is_refused_with_its_place_and_what_is_right() {
    for settings in models() {
        for setting in settings.described() {
            for wrong in ["\"no such value\"", "-1", "[[1]]"] {
                let text = with(&setting, wrong);
                let error = given(settings, &setting, &text, &[]).expect_err(setting.key);
                let said = said(&error);
                assert!(said.contains(setting.key) && said.contains("expected"), "{said}");
                let place = error.labels().and_then(|mut labels| labels.next()).expect("a place");
                assert!(place.offset() >= text.find('=').expect("a value"), "{text} {said}");
            }
            let overrides = [format!("{}=no such value", setting.key)];
            let error = given(settings, &setting, "", &overrides).expect_err(setting.key);
            assert!(said(&error).contains(setting.key), "{}", said(&error));
        }
    }
}

#[test]
fn a_slip_in_any_key_gets_the_key() {
    for settings in models() {
        for setting in settings.described() {
            let slip = format!("{}x", setting.key);
            let error = given(settings, &setting, "", &[format!("{slip}=1")]).expect_err("unknown");
            let wanted = format!("did you mean `{}`?", setting.key);
            assert!(said(&error).contains(&wanted), "{}", said(&error));
            let section = format!("[{}x]\n", setting.section());
            let error = given(settings, &setting, &section, &[]).expect_err("unknown");
            let wanted = format!("did you mean `{}`?", setting.section());
            assert!(said(&error).contains(&wanted), "{}", said(&error));
        }
    }
}

#[test]
fn every_key_is_explained_and_listed() {
    for settings in models() {
        let model = settings.model();
        let listed = slotcast(&["explain", "--of", model]);
        assert_eq!(listed.status, 0, "{}", listed.stderr);
        for setting in settings.described() {
            let key = setting.key;
            let own = |line: &str| line.split_whitespace().next() == Some(key);
            assert!(listed.stdout.lines().any(own), "{key} of {model} is not listed");
            let run = slotcast(&["explain", "--of", model, key]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let argument = format!("{key}=");
            for (other, values) in setting.only {
                let condition = format!("with {other} {}", needed(values));
                assert!(run.stdout.contains(&condition), "{}", run.stdout);
            }
            for part in [key, setting.doc, setting.source, &setting.kind.range(), &argument] {
                assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
            }
        }
    }
}

#[test]
fn a_key_of_another_model_is_found_without_its_name() {
    let run = slotcast(&["explain", "disk.seek"]);
    assert!(run.stdout.contains("disk.seek of lustre"), "{}{}", run.stdout, run.stderr);
    let run = slotcast(&["explain", "seeds.count"]);
    assert!(run.stdout.contains("of cluster"), "{}", run.stdout);
    assert!(run.stdout.contains("lustre, stripes"), "{}", run.stdout);
    let run = slotcast(&["explain", "--of", "lustr", "seeds"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("did you mean `lustre`?"), "{}", run.stderr);
}

/// The command line of every model takes `--set`, and nothing runs if it is wrong.
#[test]
fn every_command_refuses_wrong_arguments() {
    let experiment = file("models.toml", support::SMALL);
    let experiment = experiment.to_str().expect("a plain path");
    for (command, settings) in [
        (["sim", experiment], models()[0]),
        (["plan", "small"], models()[1]),
        (["reproduce", "lustre"], models()[2]),
        (["reproduce", "stripes"], models()[3]),
        (["reproduce", "networks"], models()[4]),
    ] {
        let refused = |argument: &str| {
            let run = slotcast(&[command[0], command[1], "--set", argument]);
            assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{argument} {}", run.stderr);
            run.stderr
        };
        for setting in settings.described() {
            let said = refused(&format!("{}=nonsense", setting.key));
            assert!(said.contains(setting.key), "{said}");
        }
        let said = refused("no.such=1");
        assert!(said.contains("--set") && said.contains("unknown key `no.such`"), "{said}");
    }
}

#[test]
fn an_evaluation_is_repeated_with_other_settings() {
    let measured = |disk: &str| {
        let set = format!("disk.write={disk}");
        let quick = ["--set", "run.length=3s", "--set", "run.warmup=1s", "--seeds", "1"];
        let mut all = vec!["reproduce", "stripes", "--json", "-", "--set", &set];
        all.extend(quick);
        let run = slotcast(&all);
        let json: serde_json::Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr));
        json["rows"].as_array().expect("rows")[0]["measured"].clone()
    };
    assert_ne!(measured("4ms"), measured("40ms"));
    let run = slotcast(&["reproduce", "stripes", "--set", "stripes.mode=coordinated"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("`stripes.mode` is swept"), "{}", run.stderr);
}

#[test]
fn a_cluster_file_is_swept_as_an_experiment_is() {
    let quick = ["plan", "small", "--quick", "--set", "target.objects_per_s=200"];
    let mut all = quick.to_vec();
    all.extend(["--axis", "nodes.count=6..7", "--json", "-"]);
    let run = slotcast(&all);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let points = json["points"].as_array().expect("points");
    let nodes: Vec<_> = points.iter().map(|point| &point["cluster"]["nodes.count"]).collect();
    assert_eq!(nodes, ["6", "7"]);
    assert_eq!(points[1]["sweep"]["nodes.count"], "7");
    assert!(points.iter().all(|point| point["at_target"]["objects_per_s"] == 200));
}
