//! The model against theory.

use slotcast_flash::theory::greedy_write_amplification;
use slotcast_flash::{Flash, Geometry};
use slotcast_random::Streams;

/// Writes each of so many pages once.
fn fill(flash: &mut Flash, pages: u32) {
    for page in 0..pages {
        flash.write(page);
    }
}

/// Writes evenly over all logical pages until it is steady, then measures.
fn measured(geometry: Geometry, seed: u64) -> Flash {
    let mut flash = Flash::new(geometry).expect("a device");
    let mut random = Streams::new(seed).stream("pages", 0);
    let logical = geometry.logical_pages;
    fill(&mut flash, logical);
    let mut write = |flash: &mut Flash, times: u32| {
        for _ in 0..times * logical {
            let page = random.below(u64::from(logical));
            flash.write(u32::try_from(page).expect("below a u32"));
        }
    };
    write(&mut flash, 5);
    flash.reset();
    write(&mut flash, 5);
    flash
}

#[test]
fn write_amplification_is_that_of_theory_within_3_percent() {
    for pages_per_block in [16, 32, 64, 128] {
        for percent in [50, 70, 80, 90] {
            let (blocks, spare_blocks) = (2048, 2);
            // What is neither open nor spare.
            let in_use = (blocks - spare_blocks - 1) * pages_per_block;
            let logical_pages = in_use / 100 * percent;
            let geometry = Geometry { blocks, pages_per_block, logical_pages, spare_blocks };
            let found = measured(geometry, 1).write_amplification();
            let utilization = f64::from(logical_pages) / f64::from(in_use);
            let theory = greedy_write_amplification(utilization, pages_per_block);
            let deviation = found / theory - 1.0;
            assert!(
                deviation.abs() < 0.03,
                "{percent} % of blocks of {pages_per_block}: {found} measured, {theory} computed"
            );
        }
    }
}

#[test]
fn what_is_trimmed_is_not_moved() {
    let geometry =
        Geometry { blocks: 512, pages_per_block: 32, logical_pages: 14_000, spare_blocks: 2 };
    let full = measured(geometry, 1).write_amplification();
    let mut flash = Flash::new(geometry).expect("a device");
    fill(&mut flash, 14_000);
    // Half is trimmed, and the other half written: as on a device of half the size.
    (0..7_000).for_each(|page| flash.trim(page));
    let mut random = Streams::new(1).stream("pages", 0);
    for _ in 0..70_000 {
        flash.write(7_000 + u32::try_from(random.below(7_000)).expect("below a u32"));
    }
    flash.reset();
    for _ in 0..70_000 {
        flash.write(7_000 + u32::try_from(random.below(7_000)).expect("below a u32"));
    }
    let theory = greedy_write_amplification(7_000.0 / (509.0 * 32.0), 32);
    let found = flash.write_amplification();
    assert!(found < full / 2.0, "{found} and {full}");
    assert!((found / theory - 1.0).abs() < 0.03, "{found} measured, {theory} computed");
}

#[test]
fn even_writes_wear_evenly() {
    let geometry =
        Geometry { blocks: 512, pages_per_block: 32, logical_pages: 13_000, spare_blocks: 2 };
    let (least, mean, most) = measured(geometry, 2).wear();
    assert!(f64::from(least) > mean * 0.5 && f64::from(most) < mean * 1.5, "{least} {mean} {most}");
}
