//! The table against the structs that it fills.

use super::{Kind, Value, all, nearest_key, section_doc};
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
    let table: Vec<_> = all().iter().map(|s| s.key).collect();
    for key in &keys {
        assert!(table.contains(key), "{key} is a field but not a setting");
    }
    assert_eq!(keys.len(), table.len(), "the table has settings that are no fields");
}

/// Some value of the kind that is not `not`.
fn another(kind: &Kind, not: Value) -> Value {
    let candidates = match *kind {
        Kind::Count(r) => vec![Value::Count(r.min), Value::Count(r.min + 1)],
        Kind::Size(r) => vec![Value::Size(r.min), Value::Size(r.max)],
        Kind::Rate(r) => vec![Value::Rate(r.min), Value::Rate(r.max)],
        Kind::Span(r) => vec![Value::Span(r.min), Value::Span(r.max)],
        Kind::Share(r) => vec![Value::Share(r.min), Value::Share(r.max)],
        Kind::Choice(words) => words.iter().map(|w| Value::Word(w.word)).collect(),
        Kind::Switch => vec![Value::Switch(false), Value::Switch(true)],
        Kind::Mix => vec![Value::Mix("4KiB:30% 1MiB:70%".parse().expect("a right mix"))],
    };
    candidates.into_iter().find(|v| *v != not).expect("a kind with one value is no setting")
}

/// A setting changes its own field and no other, and what it prints reads back.
#[test]
fn set_and_get_round_trip_and_touch_one_field() {
    for setting in all() {
        let value = another(&setting.kind, setting.default());
        let mut changed = Configuration::default();
        setting.set(&mut changed, value);
        assert_ne!(changed, Configuration::default(), "{}", setting.key);
        for other in all() {
            let expected = if other.key == setting.key { value } else { other.default() };
            assert_eq!(other.get(&changed), expected, "{} set {}", setting.key, other.key);
        }
        assert_eq!(setting.kind.parse(&value.to_string()), Ok(value), "{}", setting.key);
    }
}

#[test]
fn every_word_of_a_choice_round_trips() {
    for setting in all() {
        if let Kind::Choice(words) = setting.kind {
            for word in words {
                let mut changed = Configuration::default();
                setting.set(&mut changed, Value::Word(word.word));
                assert_eq!(setting.get(&changed), Value::Word(word.word));
            }
        }
    }
}

#[test]
fn a_misspelt_key_or_section_finds_the_right_one() {
    assert_eq!(nearest_key("cluster.targts"), Some("cluster.targets"));
    assert_eq!(nearest_key("cluster.link_rate"), Some("network.link_rate"));
    assert_eq!(nearest_key("targets"), Some("cluster.targets"));
    assert_eq!(nearest_key("zzzzzzzz"), None);
}

#[test]
fn keys_are_unique_and_belong_to_documented_sections() {
    let mut keys: Vec<_> = all().iter().map(|s| s.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all().len());
    for setting in all() {
        assert!(section_doc(setting.section()).is_some(), "{}", setting.key);
        assert!(!setting.doc.is_empty() && !setting.source.is_empty(), "{}", setting.key);
    }
}

#[test]
fn every_default_lies_in_its_own_range() {
    for setting in all() {
        let text = setting.default().to_string();
        assert_eq!(setting.kind.parse(&text), Ok(setting.default()), "{}", setting.key);
    }
}
