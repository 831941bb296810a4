use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A name that looks like a hash.
fn name(n: u64) -> ChunkId {
    ChunkId(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

fn value(n: u64) -> Value {
    let mut value = [0; MAX_VALUE];
    value[..8].copy_from_slice(&n.to_le_bytes());
    value
}

const VALUE: usize = 9;

/// Names whose first bytes are as often the same as not.
fn clustered() -> impl Strategy<Value = ChunkId> {
    (0usize..32, 0u8..3, any::<u8>(), 0u64..400).prop_map(|(common, byte, other, n)| {
        let mut bytes = name(n).0;
        bytes[..common].fill(byte);
        bytes[common] = other;
        ChunkId(bytes)
    })
}

fn check(table: &Table, plain: &BTreeMap<ChunkId, u64>, from: ChunkId) {
    assert_eq!(table.len(), plain.len());
    let rows: Vec<_> = table.rows(from).collect();
    let expected: Vec<_> = plain.range(from..).map(|(name, n)| (*name, value(*n))).collect();
    assert_eq!(rows, expected);
    for (name, n) in plain {
        assert_eq!(table.get(name), Some(value(*n)));
    }
}

/// Fills the table in sections of names that begin with the same `depth` bits.
fn fill(table: &mut Table, plain: &BTreeMap<ChunkId, u64>, depth: u32) {
    for section in 0..1u64 << depth {
        let of_section = |name: &&ChunkId| head_of(name) >> (u64::BITS - depth) == section;
        let names = plain.keys().filter(of_section);
        let rows: Vec<_> = names.map(|name| (*name, value(plain[name]))).collect();
        table.fill(section << (u64::BITS - depth), depth, &rows);
    }
}

/// Names that are alike share a leaf here as well, and frames are as full as others.
#[test]
fn a_table_is_filled_whatever_the_names() {
    let alike = |n: u64| {
        let mut bytes = name(n).0;
        bytes[..(n % 9) as usize].fill(0x5a);
        ChunkId(bytes)
    };
    let plain: BTreeMap<_, _> = (0..30_000).map(|n| (alike(n), n)).collect();
    let (mut table, mut one_by_one) = (Table::new(VALUE), Table::new(VALUE));
    fill(&mut table, &plain, 1);
    plain.iter().for_each(|(name, n)| one_by_one.set(name, &value(*n)));
    check(&table, &plain, ChunkId([0; 32]));
    assert_eq!(
        (table.memory().0, table.memory().1),
        (one_by_one.memory().0, one_by_one.memory().1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the names, the table holds what a plain map holds, in the same order.
    #[test]
    fn a_table_is_a_map(
        changes in proptest::collection::vec((clustered(), 0u8..4), 1..600),
        hashes in 0u64..12_000,
        from in clustered(),
        is_filled in any::<bool>(),
    ) {
        let mut plain: BTreeMap<_, _> = (0..hashes).map(|n| (name(n), n)).collect();
        let mut table = Table::new(VALUE);
        if is_filled {
            fill(&mut table, &plain, 3);
            check(&table, &plain, from);
        } else {
            (0..hashes).for_each(|n| table.set(&name(n), &value(n)));
        }
        for (n, (name, what)) in (0..).zip(&changes) {
            if *what == 0 {
                table.remove(name);
                plain.remove(name);
            } else {
                table.set(name, &value(n));
                plain.insert(*name, n);
            }
            prop_assert_eq!(table.get(name).is_some(), plain.contains_key(name));
        }
        check(&table, &plain, from);
        for n in 0..hashes - hashes / 8 {
            table.remove(&name(n));
            plain.remove(&name(n));
        }
        check(&table, &plain, ChunkId([0; 32]));
        for (n, (name, _)) in (0..).zip(&changes) {
            table.set(name, &value(n));
            plain.insert(*name, n);
        }
        check(&table, &plain, ChunkId([0; 32]));
    }
}

/// Nobody can make many of these; should somebody all the same, they are found.
#[test]
fn names_with_the_same_first_bits_share_a_leaf() {
    let same = |n: u64| {
        let mut bytes = name(n).0;
        bytes[..8].fill(0xab);
        ChunkId(bytes)
    };
    let count = 3 * MAX_ROWS as u64;
    let mut table = Table::new(VALUE);
    (0..count).for_each(|n| table.set(&same(n), &value(n)));
    assert!((0..count).all(|n| table.get(&same(n)) == Some(value(n))));
    assert_eq!(table.rows(ChunkId([0; 32])).count() as u64, count);
    (0..count).for_each(|n| table.remove(&same(n)));
    assert_eq!((table.len(), table.memory().0), (0, 1));
}

/// What is not a row's own takes less than a frame a leaf, and rows that are gone take nothing.
#[test]
fn memory_follows_the_number_of_rows() {
    let mut table = Table::new(VALUE);
    let count = 60_000;
    (0..count).for_each(|n| table.set(&name(n), &value(n)));
    let (leaves, used, free) = table.memory();
    assert!(free < MAX_ROWS / 16, "{free} free frames, which is more than a split leaves");
    // One byte of each name follows from its place, so rows have 40 bytes.
    let rows = (count as usize).div_ceil(frames::FRAME / 40);
    assert!(used < rows + leaves, "{used} frames in {leaves} leaves, {rows} at least");
    (100..count).for_each(|n| table.remove(&name(n)));
    let (leaves, used, free) = table.memory();
    assert_eq!(leaves, 1);
    assert!(used + free < 100, "{used} frames, {free} free, for 100 rows");
    assert!((0..100).all(|n| table.get(&name(n)) == Some(value(n))));
}
