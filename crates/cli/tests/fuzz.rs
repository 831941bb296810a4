//! Fault simulations from the command line: repeatable, and the same with any number of threads.

use std::process::Command;

fn fuzz(more: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["fuzz", "--json", "-"])
        .args(more)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn runs_are_the_same_with_any_number_of_threads() {
    let one = fuzz(&["--seeds", "6", "--from", "40", "--threads", "1"]);
    assert_eq!(one, fuzz(&["--seeds", "6", "--from", "40", "--threads", "3"]));
    assert_eq!(one["seeds"], 6);
    assert!(one["acknowledged"].as_u64().expect("a count") > 100, "{one}");
    assert!(one["injected"]["crashes"].as_u64().expect("a count") > 0, "{one}");
    assert_ne!(one["trace_hash"], fuzz(&["--seeds", "6", "--from", "41"])["trace_hash"]);
}

#[test]
fn a_month_has_one_seed() {
    let output = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["fuzz", "--days", "2", "--seeds", "7"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("--days") && errors.contains("--seeds"), "{errors}");
}
