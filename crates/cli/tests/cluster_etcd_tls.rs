//! A cluster whose map is in an etcd that speaks TLS and knows users.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use cluster::etcd::Etcd;
use cluster::{Cluster, content, get, put};

fn show(map: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    command.args(["cluster", "show", "--map", map]).output().expect("it runs")
}

fn refused(map: &str) -> String {
    let output = show(map);
    assert_eq!(output.status.code(), Some(2), "{map}: {output:?}");
    String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ")
}

fn change(map: &str, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    let output = command.arg("cluster").args(arguments).args(["--map", map]).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

fn state(cluster: &Cluster, node: usize) -> String {
    cluster.status(node)["network"]["map"]["state"].as_str().unwrap_or("").to_owned()
}

#[test]
fn a_cluster_follows_a_map_in_an_etcd_with_certificates_and_users() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut etcd) = Etcd::start_secured(folder.path()) else { return };
    let map = etcd.map();
    let cluster = Cluster::of_three(folder.path(), Some(&etcd));
    let stored = content(2_000_000, 1);
    let address = put(&cluster, 0, &stored).expect("it is stored");
    change(&map, &["drain", "2"]);
    cluster.wait("it drains", || state(&cluster, 2).starts_with("drain"));

    // Started anew, etcd knows no token from before.
    etcd.restart();
    for node in 0..3 {
        let is_there = || cluster.status(node)["network"]["map"]["problem"].is_null();
        cluster.wait(&format!("node {node} has found etcd again"), is_there);
    }
    change(&map, &["stay", "2"]);
    cluster.wait("it stays", || state(&cluster, 2) == "active");
    assert!(get(&cluster, 1, &address) == stored);
}

#[test]
fn what_is_wrong_with_certificates_and_users_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start_secured(folder.path()) else { return };
    let map = etcd.map();
    assert!(refused(&map).contains("there is no cluster map"));
    let (place, query) = map.split_once('?').expect("a query");
    let without = |names: &[&str]| {
        let left = query.split('&').filter(|pair| !names.iter().any(|name| pair.starts_with(name)));
        format!("{place}?{}", left.collect::<Vec<_>>().join("&"))
    };
    let secrets = folder.path().join("secrets");
    let said = refused(&without(&["user", "password-file"]));
    assert!(said.contains("400") || said.contains("401"), "{said}");
    let said = refused(&without(&["ca="]));
    assert!(said.to_lowercase().contains("certificate"), "{said}");
    assert!(refused(&without(&["cert="])).contains("`cert` and `key` go together"));
    refused(&without(&["cert=", "key="]));
    assert!(refused(&place.replace("etcds", "etcd")).contains("etcd at 127.0.0.1:"));
    fs::write(secrets.join("password"), "another").expect("room");
    assert!(refused(&map).contains("user `root`: 400"), "{}", refused(&map));
    let open = |name: &str, mode| {
        fs::set_permissions(secrets.join(name), fs::Permissions::from_mode(mode)).expect("ours");
    };
    open("password", 0o644);
    assert!(refused(&map).contains("chmod 600"));
    open("password", 0o600);
    open("client.key", 0o640);
    assert!(refused(&map).contains("chmod 600"));
}
