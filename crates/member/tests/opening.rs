//! While a target opens, the others of its node serve.

mod one_node;

use slotcast_member::{Answer, Request};
use slotcast_protocol::Claim;
use slotcast_store::StoreStatus;

use one_node::{Choices, Host, content, disks};

/// What takes long is handed out, and nothing of a member waits for it: puts and gets between two pieces of the work
/// find the other targets, and when it is done the target is there with what it held before.
#[test]
fn puts_and_gets_go_on_between_two_pieces_of_the_work() {
    let mut host = Host::start(Choices::default(), disks());
    host.holds = false;
    (0..30).for_each(|n| {
        assert_eq!(
            host.ask(n, Request::Put(content(n), Some(3), Claim::Bare)),
            Answer::Put(Ok(()))
        );
    });
    let mut host = Host::start(Choices::default(), host.disks);
    for n in 0..20 {
        let put = host.ask(2 * n, Request::Put(content(100 + n), None, Claim::Bare));
        assert_eq!(put, Answer::Put(Ok(())), "put {n}");
        let get = host.ask(2 * n + 1, Request::Get(content(n).chunk()));
        assert_eq!(get, Answer::Get(Ok(content(n))), "get {n}");
        assert_eq!((host.status(), host.pieces), (StoreStatus::Opening, 1), "one piece is held");
    }
    assert!(!host.member.is_open());
    host.holds = false;
    while !host.member.is_open() {
        host.step();
    }
    assert!(host.pieces > 2, "{} pieces", host.pieces);
    assert_eq!(host.status(), StoreStatus::Open);
    assert_eq!(host.member.target_status(host.now)[0].statistics.chunks, 30);
}
