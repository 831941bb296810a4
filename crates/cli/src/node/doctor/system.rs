//! What the system allows a process, and its clock.

use std::fs;
use std::path::Path;
use std::process::Command;

use slotcast_node::check_open_files;

use super::{Finding, Verdict};

pub(super) fn look(targets: usize, has_network: bool) -> Vec<Finding> {
    vec![open_files(targets, has_network), clock_source(), synchronised(has_network)]
}

fn open_files(targets: usize, has_network: bool) -> Finding {
    const CHECK: &str = "open files";
    match check_open_files(targets, has_network) {
        Ok(limit) => {
            Finding::good(CHECK, format!("{limit} may be open, enough for {targets} targets"))
        }
        Err(too_few) => Finding::of((CHECK, Verdict::Bad), too_few.to_string(), too_few.remedy()),
    }
}

/// Clocks that can be read without asking the hypervisor or a chip: windows are microseconds apart.
const FAST: [&str; 6] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "xen",
    "riscv_clocksource",
];

fn clock_source() -> Finding {
    const CHECK: &str = "clock source";
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match fs::read_to_string(path).as_deref().map(str::trim) {
        Ok(source) if FAST.contains(&source) => Finding::good(CHECK, source),
        Ok(source) => Finding::of(
            (CHECK, Verdict::Warning),
            format!("{source} takes microseconds to read, and it is read for each event"),
            "see why the kernel gave up `tsc`: dmesg | grep clocksource",
        ),
        Err(error) => Finding::unknown(CHECK, format!("{path}: {error}")),
    }
}

/// Windows follow differences of clocks that nodes measure by themselves; times in listings, signatures of S3 and
/// retention do not.
fn synchronised(has_network: bool) -> Finding {
    const CHECK: &str = "clock";
    const REMEDY: &str = "run chrony or systemd-timesyncd: S3 refuses requests that are 15 minutes off, \
                          and times of objects come from this clock";
    let asked =
        Command::new("timedatectl").args(["show", "-p", "NTPSynchronized", "--value"]).output();
    let answer = asked.ok().filter(|asked| asked.status.success());
    let answer = answer.map(|asked| String::from_utf8_lossy(&asked.stdout).trim().to_owned());
    let by_file = || {
        ["/run/systemd/timesync/synchronized", "/run/chrony/chronyd.pid", "/run/ntpd.pid"]
            .into_iter()
            .find(|path| Path::new(path).exists())
    };
    let verdict = if has_network { Verdict::Warning } else { Verdict::Unknown };
    match (answer.as_deref(), by_file()) {
        (Some("yes"), _) => Finding::good(CHECK, "synchronised"),
        (_, Some(path)) => Finding::good(CHECK, format!("kept by a service ({path})")),
        (Some("no"), None) => Finding::of((CHECK, Verdict::Warning), "not synchronised", REMEDY),
        _ => Finding::of((CHECK, verdict), "nothing says that it is synchronised", REMEDY),
    }
}
