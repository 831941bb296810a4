//! A scrub reads the disk, whatever is in memory.

mod one_node;

use slotcast_member::{Answer, Request, StorageTarget};
use slotcast_protocol::{Claim, TargetId};

use one_node::{Choices, Host, content, disks};

const CHUNKS: u64 = 10;
const ROTTEN: TargetId = TargetId(1);

fn rotten(host: &Host) -> &StorageTarget {
    host.member.targets().find(|target| target.id() == ROTTEN).expect("one of three")
}

/// All are right, and come from memory.
fn get_all(host: &mut Host, from: u64) {
    let before = host.member.cache_statistics();
    for n in 0..CHUNKS {
        let get = host.ask(from + n, Request::Get(content(n).chunk()));
        assert_eq!(get, Answer::Get(Ok(content(n))), "get {n}");
    }
    let after = host.member.cache_statistics();
    assert!(after.hits - before.hits >= CHUNKS, "{after:?}");
    assert_eq!(after.misses, 0);
}

#[test]
fn a_scrub_reads_the_disk_whatever_is_in_memory() {
    let choices = Choices { repairs: true, cache_memory: 1 << 20 };
    let mut host = Host::start(choices, disks());
    host.holds = false;
    for n in 0..CHUNKS {
        let put = host.ask(n, Request::Put(content(n), Some(3), Claim::Bare));
        assert_eq!(put, Answer::Put(Ok(())));
    }
    get_all(&mut host, 100);
    let disk = host.disks.get_mut(&ROTTEN).expect("one of three");
    (0..2000).for_each(|_| disk.rot());
    get_all(&mut host, 200);
    assert_eq!(rotten(&host).statistics().lost, 0, "nobody has read it");
    for _ in 0..1_000_000 {
        if rotten(&host).repair_statistics().scrubs > 0 {
            break;
        }
        host.step();
    }
    assert_eq!(rotten(&host).repair_statistics().scrubs, 1, "a day has passed");
    assert_eq!(rotten(&host).statistics().lost, CHUNKS, "every record is rotten");
    get_all(&mut host, 300);
}
