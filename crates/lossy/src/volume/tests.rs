use proptest::prelude::*;
use slotcast_random::Streams;

use super::*;

fn random(seed: u64) -> Stream {
    Streams::new(seed).stream("test", 0)
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

/// All paths, with the content of files.
fn tree(volume: &mut Volume) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(ROOT, PathBuf::new())];
    while let Some((folder, at)) = folders.pop() {
        for (Attributes { inode, is_folder, length }, name) in volume.list(folder).expect("it is") {
            let path = at.join(name);
            assert_eq!(volume.path(inode), path);
            let content = match is_folder {
                true => {
                    folders.push((inode, path.clone()));
                    None
                }
                false => Some(volume.read(inode, 0, length as usize).expect("it is there")),
            };
            found.insert(path, content);
        }
    }
    found
}

/// A file of one byte, flushed; its name is not.
fn file(volume: &mut Volume, at: &str, byte: u8) -> Inode {
    let inode = volume.create(ROOT, name(at)).expect("it is new").inode;
    volume.write(inode, 0, &[byte]).expect("it is there");
    volume.flush(inode).expect("it is there");
    inode
}

/// What is left of a volume made by `make`, over many seeds.
fn outcomes(make: impl Fn(&mut Volume)) -> BTreeSet<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let outcome = |seed| {
        let mut volume = Volume::new();
        make(&mut volume);
        volume.lose_power(&mut random(seed));
        tree(&mut volume)
    };
    (0..200).map(outcome).collect()
}

fn of(files: &[(&str, u8)]) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    files.iter().map(|(path, byte)| (PathBuf::from(path), Some(vec![*byte]))).collect()
}

#[test]
fn a_name_is_flushed_with_its_folder_and_not_with_its_file() {
    let not_flushed = outcomes(|volume| _ = file(volume, "a", 1));
    assert_eq!(not_flushed, BTreeSet::from([of(&[]), of(&[("a", 1)])]));
    let flushed = outcomes(|volume| {
        file(volume, "a", 1);
        volume.flush_folder(ROOT).expect("it is there");
    });
    assert_eq!(flushed, BTreeSet::from([of(&[("a", 1)])]));
}

#[test]
fn a_rename_replaces_as_a_whole() {
    let renamed = outcomes(|volume| {
        file(volume, "a", 1);
        file(volume, "b", 2);
        volume.flush_folder(ROOT).expect("it is there");
        volume.rename((ROOT, name("b")), (ROOT, name("a"))).expect("it is there");
    });
    let expected = [of(&[("a", 1), ("b", 2)]), of(&[("a", 2)])];
    assert_eq!(renamed, BTreeSet::from(expected));
}

#[test]
fn a_deletion_may_not_have_happened_and_content_is_there_then() {
    let removed = outcomes(|volume| {
        file(volume, "a", 1);
        volume.flush_folder(ROOT).expect("it is there");
        volume.remove(ROOT, name("a"), false).expect("it is there");
    });
    assert_eq!(removed, BTreeSet::from([of(&[("a", 1)]), of(&[])]));
}

#[test]
fn what_nobody_can_reach_is_forgotten() {
    let mut volume = Volume::new();
    let inode = file(&mut volume, "a", 1);
    volume.flush_folder(ROOT).expect("it is there");
    volume.open(inode).expect("it is there");
    volume.remove(ROOT, name("a"), false).expect("it is there");
    volume.flush_folder(ROOT).expect("it is there");
    assert_eq!(volume.read(inode, 0, 9), Ok(vec![1]), "it is open");
    volume.close(inode);
    assert_eq!(volume.read(inode, 0, 9), Err(Error::NotFound));
    assert_eq!(volume.nodes.len(), 1);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let mut volume = Volume::new();
    let folder = volume.make_folder(ROOT, name("f")).expect("it is new").inode;
    let a = file(&mut volume, "a", 1);
    volume.create(folder, name("b")).expect("it is new");
    assert_eq!(volume.create(ROOT, name("a")), Err(Error::Exists));
    assert_eq!(volume.create(a, name("b")), Err(Error::NotAFolder));
    assert_eq!(volume.remove(ROOT, name("f"), true), Err(Error::NotEmpty));
    assert_eq!(volume.remove(ROOT, name("f"), false), Err(Error::IsAFolder));
    assert_eq!(volume.remove(ROOT, name("a"), true), Err(Error::NotAFolder));
    assert_eq!(volume.rename((ROOT, name("a")), (ROOT, name("f"))), Err(Error::Exists));
    assert_eq!(volume.rename((ROOT, name("x")), (ROOT, name("y"))), Err(Error::NotFound));
    assert_eq!(volume.write(folder, 0, &[1]), Err(Error::IsAFolder));
}

#[test]
fn rot_harms_only_what_was_chosen() {
    let mut volume = Volume::new();
    file(&mut volume, "a", 1);
    file(&mut volume, "b", 2);
    let is_b = |path: &Path| path == Path::new("b");
    let (path, _) = volume.rot(is_b, &mut random(5)).expect("it has content");
    assert_eq!(path, PathBuf::from("b"));
    assert_eq!(volume.rot(|_| false, &mut random(5)), None);
}

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Remove(u8),
    Rename(u8, u8),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u8).prop_map(Step::Create),
        2 => (0..6_u8).prop_map(Step::Remove),
        2 => (0..6_u8, 0..6_u8).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// After a power failure each name stands for what it stood for at the last flush of its folder or since, and
    /// what was flushed is whole.
    #[test]
    fn names_are_as_they_were_at_some_moment(
        steps in proptest::collection::vec(step(), 0..40),
        seed: u64,
    ) {
        let mut volume = Volume::new();
        let mut since = vec![tree(&mut volume)];
        let text = |number: u8| format!("file-{number}");
        for (serial, step) in (1..).zip(&steps) {
            match step {
                Step::Create(number) if volume.look_up(ROOT, name(&text(*number))).is_err() => {
                    file(&mut volume, &text(*number), serial);
                }
                Step::Create(_) => {}
                Step::Remove(number) => _ = volume.remove(ROOT, name(&text(*number)), false),
                Step::Rename(from, to) => {
                    let (from, to) = (text(*from), text(*to));
                    _ = volume.rename((ROOT, name(&from)), (ROOT, name(&to)));
                }
                Step::Flush => {
                    volume.flush_folder(ROOT).expect("it is there");
                    since.clear();
                }
            }
            since.push(tree(&mut volume));
        }
        volume.lose_power(&mut random(seed));
        let left = tree(&mut volume);
        for number in 0..6 {
            let path = PathBuf::from(text(number));
            let had = |then: &BTreeMap<_, _>| then.get(&path) == left.get(&path);
            prop_assert!(since.iter().any(had), "{path:?}: {:?}", left.get(&path));
        }
        let again = volume.lose_power(&mut random(seed + 1));
        prop_assert_eq!(again, Loss::default());
        prop_assert_eq!(tree(&mut volume), left);
    }
}
