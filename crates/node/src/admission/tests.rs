use std::path::Path;

use proptest::prelude::*;
use slotcast_protocol::{GroupId, LayoutDigest};

use super::*;

const SIZE: u64 = 64 << 10;

/// Three targets of a cluster, in folders of `base`.
fn targets(base: &Path, count: u32) -> RegisteredTargets {
    let placed = |number: u32| PlacedTarget {
        target: TargetId(number),
        folder: base.join(format!("disk{number}")),
        seat: Seat { group: GroupId(0), position: u8::try_from(number).expect("few") },
    };
    RegisteredTargets {
        register: base.join("node.targets.toml"),
        cluster: Some(ClusterId::of_key(&[3; 32])),
        layout: Layout { epoch: 1, groups: 1, digest: LayoutDigest([1; 8]) },
        targets: (0..count).map(placed).collect(),
    }
}

/// Starts a node and stops it; what it says of each target, `None` for one that it uses.
fn start(targets: &RegisteredTargets) -> Vec<Option<String>> {
    let opened = targets.open(SIZE).expect("a register");
    let problem = |folder: Result<Folder, FolderError>| folder.err().map(|error| error.to_string());
    opened.folders.into_iter().map(problem).collect()
}

/// Gives every folder a segment, which must never be deleted or written.
fn store(targets: &RegisteredTargets) {
    for PlacedTarget { target, folder, .. } in &targets.targets {
        let content = format!("records of target {}", target.0);
        fs::write(folder.join("segments/0000000000.seg"), content).expect("room");
    }
}

fn segment(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("segments/0000000000.seg")).ok()
}

/// Whether each of the targets is used.
fn used(started: &[Option<String>]) -> Vec<bool> {
    started.iter().map(Option::is_none).collect()
}

fn swap(a: &Path, b: &Path) {
    let aside = a.with_extension("aside");
    fs::rename(a, &aside).expect("it moves");
    fs::rename(b, a).expect("it moves");
    fs::rename(aside, b).expect("it moves");
}

#[test]
fn a_new_store_is_formatted_once() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 3);
    fs::create_dir(&targets.targets[1].folder).expect("room");
    assert_eq!(start(&targets), [None, None, None]);
    let register = fs::read_to_string(&targets.register).expect("it is there");
    store(&targets);
    assert_eq!(start(&targets), [None, None, None]);
    assert_eq!(fs::read_to_string(&targets.register).expect("it is there"), register);
    assert!(targets.targets.iter().all(|placed| segment(&placed.folder).is_some()));
}

#[test]
fn a_disk_that_is_not_mounted_is_refused_and_nothing_is_written_in_its_place() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 3);
    start(&targets);
    store(&targets);
    let [folder, away] = [targets.targets[1].folder.clone(), base.path().join("away")];
    fs::rename(&folder, &away).expect("it moves");
    for mount_point in [false, true] {
        if mount_point {
            fs::create_dir(&folder).expect("room");
        }
        let started = start(&targets);
        assert_eq!(used(&started), [true, false, true], "{started:?}");
        let told = started[1].as_deref().expect("a reason");
        for part in
            ["disk1", "incarnation 1", "mount its disk", "slotcast target replace --target 1"]
        {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(folder.exists(), mount_point);
        assert!(!mount_point || fs::read_dir(&folder).expect("a folder").next().is_none());
    }
    fs::remove_dir(&folder).expect("it is empty");
    fs::rename(&away, &folder).expect("it moves");
    assert_eq!(start(&targets), [None, None, None]);
    assert_eq!(segment(&folder).as_deref(), Some("records of target 1"));
}

#[test]
fn a_lost_register_is_made_anew_from_the_labels_and_an_empty_folder_is_no_new_target() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 3);
    start(&targets);
    store(&targets);
    let [folder, away] = [targets.targets[2].folder.clone(), base.path().join("away")];
    fs::rename(&folder, &away).expect("it moves");
    fs::create_dir(&folder).expect("room");
    fs::remove_file(&targets.register).expect("it was there");
    // Also at the second start, when there is a register again.
    for _ in 0..2 {
        let started = start(&targets);
        assert_eq!(used(&started), [true, true, false], "{started:?}");
    }
    assert!(fs::read_dir(&folder).expect("a folder").next().is_none());
    fs::remove_dir(&folder).expect("it is empty");
    fs::rename(&away, &folder).expect("it moves");
    assert_eq!(start(&targets), [None, None, None]);
    assert_eq!(segment(&folder).as_deref(), Some("records of target 2"));
}

/// A disk may move with its target to a host that has others.
#[test]
fn a_target_that_an_existing_register_does_not_know_is_known_by_its_label() {
    let base = tempfile::tempdir().expect("a folder");
    let all = targets(base.path(), 3);
    start(&all);
    store(&all);
    fs::remove_file(&all.register).expect("it was there");
    assert_eq!(start(&targets(base.path(), 2)), [None, None]);
    assert_eq!(start(&all), [None, None, None]);
    assert_eq!(segment(&all.targets[2].folder).as_deref(), Some("records of target 2"));
}

/// Between the look at a folder and its label something can be mounted there.
#[test]
fn a_folder_is_looked_at_again_before_it_is_formatted() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 1);
    start(&targets);
    store(&targets);
    let folder = &targets.targets[0].folder;
    let before = label::inspect(folder).expect("it is read");
    assert!(Folder::format(folder, &label::unregistered(SIZE)).is_err());
    assert_eq!(label::inspect(folder).expect("it is read"), before);
}

#[test]
fn folders_of_format_1_are_registered_with_what_they_hold() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 3);
    let identity = |n: u8| label::hexadecimal(slotcast_store::Identity([n; 32]));
    for (n, PlacedTarget { folder, .. }) in (0..).zip(&targets.targets[..2]) {
        fs::create_dir_all(folder.join("segments")).expect("room");
        let label = format!("format = 1\nidentity = \"{}\"\nsegment_size = {SIZE}\n", identity(n));
        fs::write(folder.join("target.toml"), label).expect("room");
        fs::write(folder.join("segments/0000000000.seg"), "old records").expect("room");
    }
    let started = start(&targets);
    // The third one may be a disk that is not mounted.
    assert_eq!(used(&started), [true, true, false], "{started:?}");
    for (n, PlacedTarget { folder, .. }) in (0..).zip(&targets.targets[..2]) {
        for copy in ["target.toml", "segments/target.toml"] {
            let text = fs::read_to_string(folder.join(copy)).expect("it is there");
            let number = format!("number = {n}\n");
            assert!(text.contains(&identity(n)) && text.contains(&number), "{text}");
        }
        assert_eq!(segment(folder).as_deref(), Some("old records"));
    }
    swap(&targets.targets[0].folder, &targets.targets[1].folder);
    assert_eq!(used(&start(&targets)), [false, false, false]);
}

#[test]
fn a_target_that_is_added_takes_an_empty_folder_and_no_other() {
    let base = tempfile::tempdir().expect("a folder");
    let few = targets(base.path(), 2);
    start(&few);
    let other = tempfile::tempdir().expect("a folder");
    let foreign = RegisteredTargets {
        cluster: Some(ClusterId::of_key(&[4; 32])),
        ..targets(other.path(), 4)
    };
    start(&foreign);
    store(&foreign);
    fs::rename(&foreign.targets[3].folder, base.path().join("disk3")).expect("it moves");
    let more = targets(base.path(), 4);
    let started = start(&more);
    assert_eq!(used(&started), [true, true, true, false], "{started:?}");
    assert!(started[3].as_deref().is_some_and(|why| why.contains("of cluster")), "{started:?}");
    assert_eq!(segment(&more.targets[3].folder).as_deref(), Some("records of target 3"));
}

#[test]
fn a_target_that_sits_elsewhere_is_refused() {
    let base = tempfile::tempdir().expect("a folder");
    let mut targets = targets(base.path(), 3);
    start(&targets);
    targets.targets[1].seat.group = GroupId(1);
    let started = start(&targets);
    assert_eq!(used(&started), [true, false, true]);
    assert!(started[1].as_deref().is_some_and(|why| why.contains("position 1 of group 0")));
}

#[test]
fn a_node_that_was_told_something_wrong_keeps_nothing_of_it() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 2);
    for PlacedTarget { folder, .. } in &targets.targets {
        fs::create_dir(folder).expect("room");
        fs::write(folder.join("thesis.txt"), "mine").expect("room");
    }
    let started = start(&targets);
    assert!(started.iter().flatten().all(|why| why.contains("thesis.txt")), "{started:?}");
    assert_eq!(used(&started), [false, false]);
    assert!(!targets.register.exists());
}

#[test]
fn a_target_is_replaced_only_when_its_folder_is_free() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 2);
    let (target, folder) = (TargetId(1), &targets.targets[1].folder);
    let refused = |force: bool, says: &str| {
        let error = targets.replace(target, force).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(false, "is new");
    let running = targets.open(SIZE).expect("it starts");
    refused(true, "used by another process");
    drop(running);
    store(&targets);
    refused(false, "in good order");
    assert!(targets.replace(TargetId(9), false).is_err());

    // The folder is still that of the first incarnation, until it is emptied.
    assert_eq!(targets.replace(target, true), Ok(2));
    let started = start(&targets);
    assert_eq!(used(&started), [true, false], "{started:?}");
    assert!(started[1].as_deref().is_some_and(|why| why.contains("incarnation 1")), "{started:?}");
    assert_eq!(segment(folder).as_deref(), Some("records of target 1"));
    fs::remove_dir_all(folder).expect("it was there");
    assert_eq!(start(&targets), [None, None]);
    let (_, listed) = targets.list().expect("a register");
    assert_eq!((listed[1].incarnation, listed[1].state), (2, FolderState::Fits));

    fs::remove_dir_all(folder).expect("it was there");
    fs::create_dir(folder).expect("room");
    fs::write(folder.join("thesis.txt"), "mine").expect("room");
    refused(true, "empty the folder first");
    fs::remove_file(folder.join("thesis.txt")).expect("it was there");
    let (_, listed) = targets.list().expect("a register");
    assert_eq!(listed[1].state, FolderState::Refused);
    assert_eq!(targets.replace(target, false), Ok(3));
    assert_eq!(start(&targets), [None, None]);
}

/// What a crash of the first start can leave, in the order in which it is written.
#[test]
fn the_first_start_can_be_killed_at_any_moment() {
    for replaced in [false, true] {
        let base = tempfile::tempdir().expect("a folder");
        let targets = targets(base.path(), 2);
        let folder = &targets.targets[1].folder;
        if replaced {
            start(&targets);
            fs::remove_dir_all(folder).expect("it was there");
            targets.replace(TargetId(1), false).expect("its folder is free");
        } else {
            // As it is after the register was written first.
            let Plan { register, .. } = targets.plan(SIZE).expect("a plan");
            register::write(&register, &targets.register).expect("room");
        }
        let planned = fs::read_to_string(&targets.register).expect("it is there");
        assert!(planned.contains("planned"), "{planned}");
        assert_eq!(start(&targets), [None, None]);
        let label = fs::read_to_string(folder.join("target.toml")).expect("it is there");
        let steps: [&dyn Fn(); 5] = [
            &|| {},
            &|| fs::remove_file(folder.join("target.toml")).expect("it was there"),
            &|| fs::remove_file(folder.join("segments/target.toml")).expect("it was there"),
            &|| fs::remove_dir(folder.join("segments")).expect("it is empty"),
            &|| fs::remove_dir_all(folder).expect("it was there"),
        ];
        // Each step takes one more write back; the register says that nothing is confirmed.
        for undone in 0..=steps.len() {
            steps[..undone].iter().for_each(|step| step());
            fs::write(&targets.register, &planned).expect("room");
            assert_eq!(start(&targets), [None, None], "{undone} writes were lost");
            let again = fs::read_to_string(folder.join("target.toml")).expect("it is there");
            assert_eq!(again, label);
        }
    }
}

/// Otherwise it would be made anew where its disk is not mounted, and what that takes would be hidden when it is.
#[test]
fn a_target_is_not_used_before_the_register_says_that_it_is_there() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 2);
    let Plan { register, .. } = targets.plan(SIZE).expect("a plan");
    register::write(&register, &targets.register).expect("room");
    let planned = fs::read_to_string(&targets.register).expect("it is there");
    assert_eq!(start(&targets), [None, None]);
    fs::write(&targets.register, &planned).expect("room");
    // The register cannot be written.
    let in_the_way = base.path().join("node.targets.toml.new");
    fs::create_dir_all(in_the_way.join("x")).expect("room");
    let error = targets.open(SIZE).err().expect("it cannot be kept");
    assert!(error.to_string().contains("node.targets.toml"), "{error}");
    fs::remove_dir_all(in_the_way).expect("it was there");
    assert_eq!(start(&targets), [None, None]);
    fs::rename(&targets.targets[1].folder, base.path().join("away")).expect("it moves");
    assert_eq!(used(&start(&targets)), [true, false]);
}

#[test]
fn a_folder_that_cannot_be_read_may_hold_a_target() {
    let base = tempfile::tempdir().expect("a folder");
    let targets = targets(base.path(), 2);
    // Not even by root.
    fs::write(&targets.targets[0].folder, "no folder").expect("room");
    assert_eq!(used(&start(&targets)), [false, false]);
    assert!(!targets.targets[1].folder.join("target.toml").exists());
}

/// What may happen to the disks and files of a node while it is stopped.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    Swap(usize, usize),
    Unmount(usize),
    Mount(usize),
    LoseFirstLabel(usize),
    LoseSecondLabel(usize),
    LoseRegister,
}

fn mishap() -> impl Strategy<Value = Mishap> {
    let disk = 0..3_usize;
    prop_oneof![
        (disk.clone(), disk.clone()).prop_map(|(a, b)| Mishap::Swap(a, b)),
        disk.clone().prop_map(Mishap::Unmount),
        disk.clone().prop_map(Mishap::Mount),
        disk.clone().prop_map(Mishap::LoseFirstLabel),
        disk.prop_map(Mishap::LoseSecondLabel),
        Just(Mishap::LoseRegister),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever happens, a folder is used only for the target whose records it has, and no record is lost.
    #[test]
    fn a_folder_is_used_for_the_target_that_it_holds_or_not_at_all(
        mishaps in proptest::collection::vec(mishap(), 1..12),
    ) {
        let base = tempfile::tempdir().expect("a folder");
        let targets = targets(base.path(), 3);
        start(&targets);
        store(&targets);
        let at = |disk: usize| targets.targets[disk].folder.clone();
        let holds_its_own =
            |disk: usize| segment(&at(disk)) == Some(format!("records of target {disk}"));
        let unmounted = |disk: usize| base.path().join(format!("unmounted{disk}"));
        for mishap in mishaps {
            match mishap {
                Mishap::Swap(a, b) if a != b => swap(&at(a), &at(b)),
                Mishap::Unmount(disk) if !unmounted(disk).exists() => {
                    fs::rename(at(disk), unmounted(disk)).expect("it moves");
                    fs::create_dir(at(disk)).expect("room");
                }
                Mishap::Mount(disk) if unmounted(disk).exists() && segment(&at(disk)).is_none() => {
                    fs::remove_dir(at(disk)).expect("an empty mount point");
                    fs::rename(unmounted(disk), at(disk)).expect("it moves");
                }
                // Who has lost both cannot be told any more, and stays refused: that is another test.
                Mishap::LoseFirstLabel(disk) if at(disk).join("segments/target.toml").exists() => {
                    let _ = fs::remove_file(at(disk).join("target.toml"));
                }
                Mishap::LoseSecondLabel(disk) if at(disk).join("target.toml").exists() => {
                    let _ = fs::remove_file(at(disk).join("segments/target.toml"));
                }
                // With all disks away, too, nothing is left that could tell the store from a new one.
                Mishap::LoseRegister if (0..3).any(holds_its_own) => {
                    let _ = fs::remove_file(&targets.register);
                }
                _ => {}
            }
            // A node whose folders are all refused does not start, and has nothing to register.
            for (disk, problem) in start(&targets).into_iter().enumerate() {
                prop_assert_eq!(problem.is_none(), holds_its_own(disk), "{:?}", problem);
            }
        }
    }
}
