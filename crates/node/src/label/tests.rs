use super::*;

fn label() -> Label {
    let owner = Owner {
        cluster: random_cluster(),
        target: TargetId(7),
        seat: Seat { group: GroupId(1), position: 4 },
        incarnation: 2,
    };
    Label { owner: Some(owner), ..unregistered(64 << 20) }
}

fn formatted(label: &Label) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("segments")).expect("room");
    write(label, folder.path()).expect("room");
    folder
}

fn contents(folder: &tempfile::TempDir) -> Contents {
    inspect(folder.path()).expect("it is readable")
}

#[test]
fn a_label_is_read_as_it_was_written() {
    let folder = formatted(&label());
    let unowned = unregistered(128 << 10);
    assert_ne!(unowned.identity, unregistered(128 << 10).identity);
    for label in [label(), unowned] {
        write(&label, folder.path()).expect("room");
        assert_eq!(contents(&folder), Contents::Labelled { label, broken_copy: None });
    }
}

#[test]
fn one_copy_is_enough() {
    let label = label();
    let damage: [fn(&Path); 3] = [
        |path| fs::remove_file(path).expect("it was there"),
        |path| fs::write(path, "format = 2\nidentity = \"12").expect("room"),
        |path| fs::write(path, [0xff; 100]).expect("room"),
    ];
    for damage in damage {
        for copy in [FIRST, SECOND] {
            let folder = formatted(&label);
            fs::write(folder.path().join("segments/0000000003.seg"), "records").expect("room");
            damage(&folder.path().join(copy));
            let expected = Contents::Labelled { label: label.clone(), broken_copy: Some(copy) };
            assert_eq!(contents(&folder), expected);
        }
        let folder = formatted(&label);
        [FIRST, SECOND].iter().for_each(|copy| damage(&folder.path().join(copy)));
        assert!(!matches!(contents(&folder), Contents::Labelled { .. }));
    }
}

#[test]
fn what_cannot_be_told_is_not_taken_for_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(inspect(&folder.path().join("none")).expect("it is read"), Contents::Missing);
    assert_eq!(contents(&folder), Contents::Empty);
    // What a file system makes, and what a crash of the first start leaves.
    fs::create_dir_all(folder.path().join("lost+found")).expect("room");
    fs::create_dir_all(folder.path().join("segments")).expect("room");
    fs::write(folder.path().join("lock"), "").expect("room");
    fs::write(folder.path().join("segments/target.toml.new"), "format").expect("room");
    assert_eq!(contents(&folder), Contents::Empty);
    fs::write(folder.path().join("thesis.txt"), "mine").expect("room");
    assert_eq!(contents(&folder), Contents::OtherFiles("thesis.txt".into()));
    fs::write(folder.path().join("segments/0000000003.seg"), "records").expect("room");
    assert!(matches!(contents(&folder), Contents::Unreadable(why) if why.contains("no label")));

    // Names are somebody's, too; a folder that is only called so may be anything.
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("names/rows-1")).expect("room");
    assert_eq!(contents(&folder), Contents::OtherFiles("names".into()));
    fs::write(folder.path().join("names/store.toml"), "format = 1").expect("room");
    assert!(matches!(contents(&folder), Contents::Unreadable(why) if why.contains("no label")));
    // Beside segments they are as they should be.
    fs::create_dir(folder.path().join("segments")).expect("room");
    write(&label(), folder.path()).expect("room");
    assert!(matches!(contents(&folder), Contents::Labelled { broken_copy: None, .. }));

    // The folder of the segments may be a disk of its own, which is not mounted.
    let folder = formatted(&label());
    fs::remove_file(folder.path().join(SECOND)).expect("it was there");
    assert!(matches!(contents(&folder), Contents::Unreadable(why) if why.contains("are missing")));

    // A target whose segments are gone has lost them; it is not new.
    let folder = formatted(&label());
    fs::remove_dir_all(folder.path().join("segments")).expect("it was there");
    assert!(matches!(contents(&folder), Contents::Unreadable(why) if why.contains("are missing")));
}

#[test]
fn copies_that_contradict_each_other_are_not_believed() {
    let mine = label();
    let folder = formatted(&mine);
    for other in [
        Label { identity: random_identity(), ..mine.clone() },
        Label { owner: label().owner, ..mine.clone() },
    ] {
        fs::write(folder.path().join(FIRST), to_toml(&other)).expect("room");
        assert!(
            matches!(contents(&folder), Contents::Unreadable(why) if why.contains("contradict"))
        );
    }
    // A later format is not an older one that is damaged.
    let later = to_toml(&mine).replace("format = 2", "format = 3\nmore = true");
    fs::write(folder.path().join(FIRST), later).expect("room");
    assert!(matches!(contents(&folder), Contents::Unreadable(why) if why.contains("format 3")));
}

#[test]
fn a_label_of_format_1_is_read_and_the_one_with_more_is_believed() {
    let mine = label();
    let folder = formatted(&mine);
    let old = format!(
        "# A target of Slotcast.\nformat = 1\nidentity = \"{}\"\nsegment_size = {}\n",
        hexadecimal(mine.identity),
        mine.segment_size
    );
    fs::write(folder.path().join(FIRST), &old).expect("room");
    let expected = Contents::Labelled { label: mine.clone(), broken_copy: Some(FIRST) };
    assert_eq!(contents(&folder), expected, "a crash while the target was registered");
    fs::remove_file(folder.path().join(SECOND)).expect("it was there");
    let unowned = Label { owner: None, ..mine };
    let expected = Contents::Labelled { label: unowned, broken_copy: Some(SECOND) };
    assert_eq!(contents(&folder), expected);
}

#[test]
fn the_id_of_a_cluster_follows_from_its_key_and_does_not_tell_it() {
    let (id, other) = (ClusterId::of_key(&[9; 32]), ClusterId::of_key(&[8; 32]));
    assert_eq!(id, ClusterId::of_key(&[9; 32]));
    assert_ne!(id, other);
    assert!(!id.to_string().contains("0909"));
    assert_eq!(ClusterId::try_from(id.to_string()), Ok(id));
}
