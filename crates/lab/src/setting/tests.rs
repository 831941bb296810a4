//! The table against the structs that it fills.

use super::{CLUSTER, Settings};
use crate::configuration::{Seeds, Statistics};
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
