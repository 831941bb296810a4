//! What a disk does without a store: the baseline of the examples beside this.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Bytes per second of writing `total` bytes into a file in `folder`, with an `fdatasync` after each MiB.
pub(crate) fn rate(folder: &Path, total: usize) -> f64 {
    let path = folder.join("plain");
    let mut file = File::create(&path).expect("a file");
    let block = vec![0x5a; 1 << 20];
    let start = Instant::now();
    for _ in 0..total >> 20 {
        file.write_all(&block).expect("room");
        file.sync_data().expect("a flush");
    }
    let rate = total as f64 / start.elapsed().as_secs_f64();
    std::fs::remove_file(path).expect("it was there");
    rate
}
