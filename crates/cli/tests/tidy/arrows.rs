//! Which crate may depend on which.

use std::path::Path;

use serde_json::Value;

use crate::crates::{CRATES, Crate, Part};
use crate::{printed, root};

/// A dependency of one crate of the workspace on another, be it only of its tests, examples or benchmarks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrow {
    from: String,
    to: String,
}

/// What the manifests say, asked of Cargo: packages with their folders, and arrows between them.
fn workspace() -> (Vec<(String, String)>, Vec<Arrow>) {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let json = printed(env!("CARGO"), &arguments);
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    let root = root().canonicalize().expect("a folder");
    let (mut packages, mut arrows) = (Vec::new(), Vec::new());
    for package in json["packages"].as_array().expect("packages") {
        let name = text(&package["name"]);
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().expect("a folder");
        let folder = folder.canonicalize().expect("a folder");
        let folder = folder.strip_prefix(&root).expect("within the checkout");
        packages.push((name.clone(), folder.display().to_string()));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if dependency["path"].is_string() {
                let (from, to) = (name.clone(), text(&dependency["name"]));
                arrows.push(Arrow { from, to });
            }
        }
    }
    (packages, arrows)
}

/// What is wrong with `arrow`.
fn problem(arrow: &Arrow) -> Option<String> {
    let Arrow { from, to } = arrow;
    let place = |name: &str| CRATES.iter().position(|known| known.package == name);
    let (Some(a), Some(b)) = (place(from), place(to)) else {
        return Some(format!("{from} -> {to}: not in the table of crates"));
    };
    let (user, used): (Crate, Crate) = (CRATES[a], CRATES[b]);
    if b >= a {
        return Some(format!("{from} -> {to}: points outwards"));
    }
    if user.part != used.part && !user.part.may_use().contains(&used.part) {
        return Some(format!("{from} -> {to}: {:?} may not use {:?}", user.part, used.part));
    }
    None
}

#[test]
fn arrows_point_inwards() {
    let (packages, arrows) = workspace();
    let problems: Vec<_> = arrows.iter().filter_map(problem).collect();
    assert_eq!(problems, Vec::<String>::new());

    let mut known: Vec<_> =
        CRATES.iter().map(|known| (known.package.to_string(), known.folder.to_string())).collect();
    let mut there = packages;
    known.sort();
    there.sort();
    assert_eq!(there, known, "the table of crates is not what there is");
}

#[test]
fn the_table_of_crates_goes_from_ring_to_ring() {
    assert!(CRATES.is_sorted_by_key(|known| known.ring));
    for known in CRATES {
        assert_eq!(known.folder.starts_with("studies/"), known.part == Part::Study, "{known:?}");
    }
}

#[test]
fn planted_arrows_are_found() {
    let found = |from: &str, to: &str| {
        problem(&Arrow { from: from.into(), to: to.into() }).unwrap_or_default()
    };
    for (from, to, complaint) in [
        ("slotcast-units", "slotcast-protocol", "points outwards"),
        ("slotcast-sim", "slotcast-lab", "points outwards"),
        ("slotcast-scenario", "slotcast-scenario", "points outwards"),
        ("slotcast-store", "slotcast-sim", "points outwards"),
        ("slotcast-node", "slotcast-stripe", "Store may not use Study"),
        ("slotcast-node", "slotcast-engine", "Store may not use Kernel"),
        ("slotcast-node", "slotcast-sim", "may not use Simulator"),
        ("slotcast-lab", "slotcast-schedulers", "Lab may not use Study"),
        ("slotcast-lustre", "slotcast-node", "Study may not use Store"),
        ("slotcast-lustre", "slotcast-sim", "Study may not use Simulator"),
        ("slotcast-lab", "slotcast-new", "not in the table of crates"),
    ] {
        assert!(found(from, to).ends_with(complaint), "{from} -> {to}");
    }
    assert_eq!(found("slotcast", "slotcast-lustre"), "");
    assert_eq!(found("slotcast-store", "slotcast-faults"), "");
}
