//! The published figures of Lustre's schedulers and timeouts, on runs that are short enough for a test; and
//! what the reader of experiment files says of mistakes.
#![allow(clippy::disallowed_methods, reason = "a test reads files")]

use std::path::{Path, PathBuf};

use slotcast_lustre::{
    LustreExperiment, LustrePoint, LustreReport, LustreScenario, PhaseReport, SETTINGS, run_lustre,
};
use slotcast_units::{Size, Span};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/lustre")
}

fn read(name: &str) -> LustreExperiment {
    LustreExperiment::from_file(&folder().join(name), &[])
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The point with these values of swept keys.
fn point<'a>(experiment: &'a LustreExperiment, wanted: &[(&str, &str)]) -> &'a LustrePoint {
    let is_it = |point: &&LustrePoint| {
        wanted.iter().all(|(key, value)| point.value(key).as_deref() == Some(value))
    };
    experiment.points.iter().find(is_it).unwrap_or_else(|| panic!("no point {wanted:?}"))
}

fn run(scenario: &LustreScenario) -> LustreReport {
    run_lustre(scenario, 1).expect("a checked scenario")
}

fn within(what: &str, measured: f64, published: f64, percent: f64) {
    let deviation = (measured / published - 1.0) * 100.0;
    assert!(
        deviation.abs() <= percent,
        "{what}: {measured:.2}, published {published} ({deviation:+.1} %)"
    );
}

fn phases(report: &LustreReport) -> (&PhaseReport, &PhaseReport) {
    let job = &report.jobs[0];
    (job.write.as_ref().expect("writes"), job.read.as_ref().expect("reads"))
}

#[test]
fn every_file_can_be_read() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let experiment = read(path.file_name().unwrap().to_str().unwrap());
        assert_eq!(path.file_stem().unwrap().to_str(), Some(experiment.name.as_str()));
        assert!(experiment.title.is_some(), "{}", experiment.name);
        count += 1;
    }
    assert!(count >= 11);
}

#[test]
fn one_ost_does_what_the_slides_say() {
    let experiment = read("one-ost.toml");
    let measure = |policy| {
        let wanted = [("ost.threads", "64"), ("scheduler.policy", policy)];
        run(&point(&experiment, &wanted).scenario)
    };
    let (fcfs, frr) = (measure("fcfs"), measure("frr"));
    for (report, write, read, policy) in
        [(&fcfs, 240.36, 246.36, "fcfs"), (&frr, 381.49, 373.49, "frr")]
    {
        let (written, found) = phases(report);
        within(&format!("{policy} write"), written.mib_per_s(), write, 10.0);
        within(&format!("{policy} read"), found.mib_per_s(), read, 10.0);
    }
    let seeks = |report: &LustreReport| {
        let (written, found) = phases(report);
        let disks = report.disks;
        (disks.write.seeks as f64 / written.seconds(), disks.read.seeks as f64 / found.seconds())
    };
    within("fcfs seeks, writing", seeks(&fcfs).0, 240.0, 15.0);
    within("fcfs seeks, reading", seeks(&fcfs).1, 240.0, 15.0);
    within("frr seeks, writing", seeks(&frr).0, 70.0, 15.0);
    within("frr seeks, reading", seeks(&frr).1, 70.0, 25.0);
    let gain = |of: fn(&LustreReport) -> f64| of(&frr) / of(&fcfs);
    assert!(gain(|report| phases(report).0.mib_per_s()) > 1.45);
    assert!(gain(|report| phases(report).1.mib_per_s()) > 1.45);
}

/// The OSTs of the published setups are equal and know nothing of each other: nine of them with a
/// sixteenth of the clients do what 144 do.
#[test]
fn many_osts_do_what_slides_and_paper_say() {
    for (file, fcfs, frr) in [
        ("nrs-144.toml", (34743.0, 30638.0), (46279.0, 46304.0)),
        ("isc09.toml", (34400.0, 34800.0), (48600.0, 49200.0)),
    ] {
        let experiment = read(file);
        for (policy, (write, read)) in [("fcfs", fcfs), ("frr", frr)] {
            let mut scenario = point(&experiment, &[("scheduler.policy", policy)]).scenario.clone();
            scenario.ost.count /= 16;
            scenario.jobs[0].clients /= 16;
            let report = run(&scenario);
            let (written, found) = phases(&report);
            within(&format!("{file} {policy} write"), written.mib_per_s() * 16.0, write, 10.0);
            // The slides' read of FCFS is below that of the paper, whose disk is slower.
            let near = if (file, policy) == ("nrs-144.toml", "fcfs") { 15.0 } else { 10.0 };
            within(&format!("{file} {policy} read"), found.mib_per_s() * 16.0, read, near);
            if (file, policy) == ("isc09.toml", "frr") {
                for (class, count) in [(4, 485.0), (5, 312.0), (6, 217.0)] {
                    let measured = report.disks.write.sizes[class] as f64 / 9.0;
                    within(&format!("requests of size class {class}"), measured, count, 20.0);
                }
                let per_s = report.disks.write.seeks as f64 / 9.0 / written.seconds();
                within("seeks a second, writing", per_s, 75.0, 10.0);
            }
        }
    }
}

#[test]
fn rpcs_time_out_as_often_as_the_slides_say() {
    let experiment = read("timeouts.toml");
    let mut rates = Vec::new();
    for (rule, published) in [("fixed", 86.0), ("max", 40.0), ("lcf", 9.0), ("aet", 9.0)] {
        let timeouts = run(&point(&experiment, &[("timeout.rule", rule)]).scenario).timeouts;
        assert_eq!(timeouts.rpcs, 128_000);
        let rate = timeouts.late as f64 / timeouts.rpcs as f64 * 100.0;
        assert!((rate - published).abs() <= 8.0, "{rule}: {rate:.1} %, published {published} %");
        rates.push(rate);
    }
    assert!(rates[0] > rates[1] && rates[1] > rates[2].max(rates[3]), "{rates:?}");
}

#[test]
fn without_a_calibrated_disk_the_queue_is_as_long_as_the_paper_says() {
    let experiment = read("timeouts-lambda.toml");
    let wanted = [("timeout.rule", "max"), ("timeout.stretch", "120%")];
    let report = run(&point(&experiment, &wanted).scenario);
    within("longest queue", report.queue_peak as f64, 30_000.0, 5.0);
    let late = report.timeouts.late as f64 / report.timeouts.rpcs as f64 * 100.0;
    within("MAX with a factor of 1.2", late, 52.0, 5.0);
}

#[test]
fn early_replies_keep_everybody_waiting() {
    let experiment = read("early-replies.toml");
    for (rule, published) in [("lcf", 25_485.0), ("aet", 24_452.0)] {
        let wanted = [("timeout.early", "at-arrival-too"), ("timeout.rule", rule)];
        let timeouts = run(&point(&experiment, &wanted).scenario).timeouts;
        assert_eq!(timeouts.late, 0, "{rule}");
        within(&format!("messages, {rule}"), timeouts.early_replies() as f64, published, 10.0);
    }
    let wanted = [("timeout.early", "before-deadline"), ("timeout.rule", "aet")];
    let timeouts = run(&point(&experiment, &wanted).scenario).timeouts;
    within("messages before a deadline", timeouts.early_replies() as f64, 55_445.0, 10.0);
}

#[test]
fn jaguar_with_large_transfers_is_as_fast_as_the_machine() {
    let experiment = read("jaguar.toml");
    for cache in ["0B", "4MiB"] {
        let wanted = [("job.transfer", "1MiB"), ("cache.size", cache)];
        let mut scenario = point(&experiment, &wanted).scenario.clone();
        scenario.ost.count /= 16;
        scenario.jobs[0].clients /= 16;
        let report = run(&scenario);
        let (written, found) = phases(&report);
        within("write", written.mib_per_s() * 16.0, 30366.17, 8.0);
        within("read", found.mib_per_s() * 16.0, 33793.55, 8.0);
    }
}

#[test]
fn a_storage_cache_brings_small_writes_nearer_to_the_machine() {
    let experiment = read("jaguar.toml");
    let wanted = [("job.transfer", "64KiB"), ("cache.size", "4MiB")];
    let mut scenario = point(&experiment, &wanted).scenario.clone();
    scenario.ost.count /= 36;
    scenario.jobs[0].clients /= 36;
    scenario.jobs[0].size = Size::from_mib(8);
    let report = run(&scenario);
    let (written, found) = phases(&report);
    // As far as the published simulator, which had no cache, was away from it.
    within("write", written.mib_per_s() * 36.0, 7056.74, 47.0);
    within("read", found.mib_per_s() * 36.0, 2352.03, 63.0);
}

#[test]
fn bandwidth_peaks_with_256_clients() {
    let published =
        [4224.39, 8341.36, 15887.19, 24158.89, 21611.95, 21459.23, 14099.09, 7818.24, 3984.44];
    let experiment = read("scalability.toml");
    let mut curve = Vec::new();
    for (point, published) in experiment.points.iter().zip(published) {
        let report = run(&point.scenario);
        let written = report.jobs[0].write.as_ref().expect("writes");
        within(&point.label(), written.mib_per_s(), published, 20.0);
        curve.push((written.mib_per_s(), point.scenario.jobs[0].clients));
    }
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(curve.last().map(|(_, clients)| *clients), Some(256));
}

#[test]
fn classes_get_their_slices() {
    for point in &read("time-slices.toml").points {
        let report = run(&point.scenario);
        // From the second epoch of 10 s to where both still have work.
        let bytes = |class: usize| {
            report.samples[class][100..600].iter().map(|sample| sample.bytes as f64).sum::<f64>()
        };
        within(&point.label(), bytes(0) / (bytes(0) + bytes(1)), 0.7, 5.0);
    }
}

#[test]
fn urgent_requests_are_answered_in_time_and_only_with_deadlines() {
    let experiment = read("deadlines.toml");
    let longest = |policy| {
        let report = run(&point(&experiment, &[("scheduler.policy", policy)]).scenario);
        assert!(report.queue_peak > 7000, "{}", report.queue_peak);
        report.samples[1].iter().map(|sample| sample.longest).max().expect("urgent requests")
    };
    assert!(longest("frr") > Span::from_secs(10));
    assert!(longest("frr-deadline") < Span::from_ms(5500));
}

#[test]
fn mistakes_are_shown_with_their_place_and_a_remedy() {
    let job = "[[job]]\nclients = 1\n";
    for (text, message) in [
        ("[ots]\ncount = 1", "unknown section or key `ots`"),
        ("[ost]\nthread = 1", "unknown key `ost.thread`"),
        ("[ost]\nthreads = \"many\"", "ost.threads: expected a whole number"),
        ("[ost]\nthreads = 0", "ost.threads: 0 is out of range"),
        ("[scheduler]\npolicy = \"frrr\"", "`frrr` is not one of"),
        ("[disk]\nseek = \"1ms\"\nseek_jitter = \"2ms\"", "disk.seek_jitter: must not exceed"),
        ("[cache]\nsize = \"1GiB\"\n[disk]\nmembers = 2", "cache.size: the cache stands before"),
        ("[disk]\nseek = \"24h\"\n[[sweep]]\njob.size = [\"1TiB\"]", "job.size: with these sizes"),
        ("[network]\nmessage = \"1024TiB\"\nrate = \"1Mbps\"", "job.size: with these sizes"),
        ("[[sweep]]\nost.count = []", "sweep of `ost.count`: found an empty list"),
        ("[[sweep]]\nost.count = [1, 2]\nost.threads = [1]", "of the same block has 2"),
        ("[[sweep]]\nseeds.count = [1]", "seeds cannot be swept"),
    ] {
        let error =
            LustreExperiment::from_toml("test.toml", &format!("{job}{text}"), &[]).unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    let nobody = LustreExperiment::from_toml("test.toml", "[ost]\ncount = 1", &[]).unwrap_err();
    assert!(nobody.to_string().contains("nobody does anything"), "{nobody}");
    let random = "[[job]]\naccess = \"random\"";
    let error = LustreExperiment::from_toml("test.toml", random, &[]).unwrap_err();
    assert!(error.to_string().contains("job.access: random needs `direct = true`"), "{error}");
}

#[test]
fn points_are_crossed_and_jobs_swept_together() {
    let text = "
        [[job]]
        clients = 2
        [[job]]
        name = \"other\"
        clients = 3
        [[sweep]]
        job.size = [\"1MiB\", \"2MiB\"]
        [[sweep]]
        scheduler.policy = [\"fcfs\", \"frr\"]
        ost.count = [1, 2]
    ";
    let experiment = LustreExperiment::from_toml("test.toml", text, &[]).unwrap();
    let labels: Vec<_> = experiment.points.iter().map(LustrePoint::label).collect();
    assert_eq!(labels.len(), 4);
    assert_eq!(labels[1], "job.size=1MiB scheduler.policy=frr ost.count=2");
    let jobs = &experiment.points[2].scenario.jobs;
    assert!(jobs.iter().all(|job| job.size == Size::from_mib(2)));
    assert_eq!((jobs[0].clients, jobs[1].clients, jobs[1].name.as_str()), (2, 3, "other"));
}

#[test]
fn the_documentation_names_every_key() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulate/lustre.md");
    let docs = std::fs::read_to_string(docs).expect("docs/simulate/lustre.md");
    for key in SETTINGS.keys() {
        let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
        assert!(docs.contains(&format!("`{name}`")) || docs.contains(&format!("`{key}`")), "{key}");
    }
}
