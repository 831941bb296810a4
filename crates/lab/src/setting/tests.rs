//! The table against the structs that it fills.

use super::{CLUSTER, Settings};
use crate::configuration::{Configuration, Seeds, Statistics};
use slotcast_sim::{
    Cluster, Dctcp, Disk, Faults, Network, Protocol, Quirks, Replicast, Run, Scenario, Unicast,
    Workload,
};

/// Names every field of every section: a new field does not compile until it is listed here, and
/// then fails until the table has it.
#[test]
fn every_field_of_a_scenario_is_a_setting() {
    macro_rules! fields {
        ($type:ident { $($field:ident),* }, $section:literal, $keys:ident) => {
            let $type { $($field: _),* } = $type::default();
            $($keys.push(concat!($section, ".", stringify!($field)));)*
        };
    }
    let Scenario {
        cluster: _,
        network: _,
        disk: _,
        protocol: _,
        replicast: _,
        unicast: _,
        dctcp: _,
        quirks: _,
        workload: _,
        faults: _,
        run: _,
    } = Scenario::default();
    let mut keys = Vec::new();
    fields!(
        Cluster { initiators, targets, replicas, targets_per_domain, group_size },
        "cluster",
        keys
    );
    fields!(Network { link_rate, overhead, trip, frame }, "network", keys);
    fields!(Disk { rate, access_time, queue_limit, per_target }, "disk", keys);
    fields!(Protocol { kind }, "protocol", keys);
    fields!(
        Replicast {
            control_size,
            control_share,
            bid_multiplier,
            bid_gap,
            backpressure,
            idle_extension,
            ties,
            sequence,
            choosy,
            choosy_start,
            double_booking,
            answer_timeout,
            ack_timeout,
            max_rounds,
            proxy_messages,
            proxy_choice
        },
        "replicast",
        keys
    );
    fields!(
        Unicast { control_size, target_choice, virtual_nodes, grant, aimd_step },
        "unicast",
        keys
    );
    fields!(
        Dctcp {
            mark_threshold,
            buffer,
            gain,
            initial_alpha,
            initial_window,
            min_rto,
            idle_restart,
            receive_buffer,
            initiator_link,
            sample_every
        },
        "dctcp",
        keys
    );
    fields!(
        Quirks {
            queued_windows,
            consecutive_triples,
            abandon_without_window,
            keep_idle_window,
            coin_toss_extension,
            free_last_frame,
            avoid_previous_group,
            overlapping_windows,
            early_statistics
        },
        "quirks",
        keys
    );
    fields!(
        Workload {
            load,
            window,
            arrivals_per_s,
            chunk_size,
            mix,
            get_share,
            start_spread,
            start_interval,
            preloaded_chunks
        },
        "workload",
        keys
    );
    fields!(
        Faults {
            message_loss,
            message_duplication,
            message_delay,
            transfer_corruption,
            targets_down,
            neighbours_down,
            rebuild_share,
            down_at,
            up_at,
            slow_disks,
            slow_factor
        },
        "faults",
        keys
    );
    fields!(Run { length, warmup, fidelity }, "run", keys);
    fields!(Seeds { first, count }, "seeds", keys);
    fields!(Statistics { warmup, precision, max_seeds, max_time }, "statistics", keys);
    let table: Vec<_> = CLUSTER.keys();
    for key in &keys {
        assert!(table.contains(key), "{key} is a field but not a setting");
    }
    assert_eq!(keys.len(), table.len(), "the table has settings that are no fields");
}

#[test]
fn the_schema_is_sound() {
    assert_eq!(CLUSTER.problems(), Vec::<String>::new());
}

#[test]
fn a_misspelt_key_or_section_finds_the_right_one() {
    assert_eq!(CLUSTER.nearest_key("cluster.targts"), Some("cluster.targets"));
    assert_eq!(CLUSTER.nearest_key("cluster.link_rate"), Some("network.link_rate"));
    assert_eq!(CLUSTER.nearest_key("targets"), Some("cluster.targets"));
    assert_eq!(CLUSTER.nearest_key("zzzzzzzz"), None);
}

/// A key that is refused for having no effect has none: whatever it is set to, the run is the same.
#[test]
fn what_is_refused_for_having_no_effect_has_none() {
    let set = |configuration: &mut Configuration, key: &str, value: &str| {
        let setting = CLUSTER.find(key).expect("a key");
        setting.set(configuration, setting.kind.parse(value).expect("a value"));
    };
    let run = |configuration: &Configuration| {
        let scenario = &configuration.scenario;
        slotcast_sim::check(scenario).ok().map(|()| {
            let run = slotcast_sim::run(scenario, 7).expect("it was checked");
            (run.trace_hash, run.latency, run.counts)
        })
    };
    let mut tried = 0;
    for protocol in ["replicast-m", "replicast-h", "replicast-proxy", "uch-ccp", "uch-dctcp"] {
        for gets in ["0%", "30%"] {
            let mut base = Configuration::default();
            for (key, value) in [
                ("cluster.initiators", "36"),
                ("cluster.targets", "18"),
                ("run.length", "3ms"),
                ("run.warmup", "1ms"),
                ("run.fidelity", "frame"),
                ("protocol.kind", protocol),
                ("workload.get_share", gets),
            ] {
                set(&mut base, key, value);
            }
            let expected = run(&base).expect("it can be run");
            let idle = CLUSTER.settings.iter().filter(|one| CLUSTER.lacks(one, &base).is_some());
            // How the runs are made into figures is no part of one run.
            for setting in idle.filter(|one| one.section() != "statistics") {
                for value in setting.kind.examples() {
                    let mut changed = base.clone();
                    setting.set(&mut changed, value);
                    let Some(found) = run(&changed) else { continue };
                    assert_eq!(found, expected, "{} = {value} with {protocol}", setting.key);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 200, "{tried}");
}
