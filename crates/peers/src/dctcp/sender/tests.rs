use super::*;

const FRAME: u32 = 1000;

fn rules() -> SenderRules {
    SenderRules {
        congestion: CongestionRules {
            frame: u64::from(FRAME),
            initial_window: 10 * u64::from(FRAME),
            gain_ppm: 62_500,
            initial_alpha: 0,
        },
        min_rto: Span::from_ms(10),
        idle_restart: true,
        base_round_trip: Span::from_us(10),
        receive_buffer: 20 * u64::from(FRAME),
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Sends all that may leave at once.
fn burst(sender: &mut Sender, now: Time) -> Vec<Departure> {
    let rules = rules();
    let mut sent = Vec::new();
    while let Some(len) = sender.allowed(&rules) {
        sent.push(sender.send(now, len, &rules));
    }
    sent
}

fn acknowledge(sender: &mut Sender, now: Time, frame: Departure, edge: u64) {
    let Departure { start, transmission, .. } = frame;
    let ack = Ack { start, transmission, sent: at(0), marked: false, edge };
    sender.acknowledge(now, ack, &rules());
}

fn writing(bytes: u64) -> Sender {
    let mut sender = Sender::new(&rules());
    sender.write(at(0), bytes, &rules());
    sender
}

#[test]
fn a_stream_leaves_in_frames_as_the_window_allows() {
    let mut sender = writing(12_500);
    let sent = burst(&mut sender, at(0));
    assert_eq!(sent.len(), 10, "the first window");
    assert_eq!(sender.deadline(), at(10_000));
    acknowledge(&mut sender, at(10), sent[0], 20_000);
    let more = burst(&mut sender, at(10));
    assert_eq!(more.iter().map(|d| d.len).collect::<Vec<_>>(), [1000, 1000], "slow start");
    acknowledge(&mut sender, at(11), sent[1], 20_000);
    let last = burst(&mut sender, at(11));
    assert_eq!((last.len(), last[0].len, last[0].start), (1, 500, 12_000));
    for frame in sent[2..].iter().chain(&more).chain(&last) {
        acknowledge(&mut sender, at(12), *frame, 20_000);
    }
    assert_eq!(sender.acknowledged(), 12_500);
    assert_eq!(sender.deadline(), Time::NEVER, "nothing is on its way");
}

#[test]
fn a_closed_receive_window_holds_the_sender_back() {
    let mut sender = writing(100_000);
    let mut sent = burst(&mut sender, at(0));
    // Acknowledged, but nothing was read: the edge stays where it was.
    let mut left = 0;
    while let Some(frame) = sent.get(left).copied() {
        acknowledge(&mut sender, at(10), frame, 20_000);
        left += 1;
        sent.extend(burst(&mut sender, at(10)));
    }
    assert_eq!(sender.acknowledged(), 20_000);
    assert_eq!(sender.allowed(&rules()), None);
    sender.opened(20_500);
    assert_eq!(sender.allowed(&rules()), None, "no frame for half a frame of room");
    sender.opened(21_000);
    assert_eq!(sender.allowed(&rules()), Some(FRAME));
}

#[test]
fn a_gap_is_filled_once_and_costs_half_the_window() {
    let mut sender = writing(10_000);
    let sent = burst(&mut sender, at(0));
    for frame in &sent[1..3] {
        acknowledge(&mut sender, at(10), *frame, 20_000);
    }
    assert_eq!(sender.lost, 0, "two are not enough");
    for frame in &sent[3..] {
        acknowledge(&mut sender, at(10), *frame, 20_000);
    }
    let again = burst(&mut sender, at(10));
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].start, again[0].again), (0, true));
    assert_eq!(sender.congestion().window(), 5_000);
    acknowledge(&mut sender, at(20), again[0], 20_000);
    assert_eq!(sender.acknowledged(), 10_000);
    assert!(!sender.recovering);
}

#[test]
fn a_lost_retransmission_is_found_by_what_left_after_it() {
    let mut sender = writing(20_000);
    let sent = burst(&mut sender, at(0));
    for frame in &sent[1..] {
        acknowledge(&mut sender, at(10), *frame, 20_000);
    }
    // The first leaves again, and new data after it; of these all but the first arrive.
    let second = burst(&mut sender, at(10));
    assert!(second[0].again && second.len() > 3, "{second:?}");
    for frame in &second[1..4] {
        acknowledge(&mut sender, at(20), *frame, 20_000);
    }
    let third = burst(&mut sender, at(20));
    assert_eq!((third[0].start, third[0].again), (0, true));
}

#[test]
fn a_timeout_sends_everything_again_and_waits_longer() {
    let mut sender = writing(3_000);
    let sent = burst(&mut sender, at(0));
    sender.time_out(at(10_000), &rules());
    assert_eq!(sender.deadline(), at(30_000), "twice as long");
    let again = burst(&mut sender, at(10_000));
    assert_eq!(again.len(), 1, "a window of one frame");
    // The first copy was late, not lost: its acknowledgement counts, the second is ignored.
    acknowledge(&mut sender, at(10_001), sent[0], 20_000);
    assert_eq!(sender.acknowledged(), 1_000);
    acknowledge(&mut sender, at(10_002), again[0], 20_000);
    assert_eq!(sender.acknowledged(), 1_000);
    for _ in 0..2 {
        for frame in burst(&mut sender, at(10_003)) {
            acknowledge(&mut sender, at(10_010), frame, 20_000);
        }
    }
    assert_eq!((sender.acknowledged(), sender.in_flight), (3_000, 0));
}

#[test]
fn silence_shrinks_a_grown_window_to_the_first_one() {
    let mut sender = writing(20_000);
    let mut sent = burst(&mut sender, at(0));
    let mut left = 0;
    while let Some(frame) = sent.get(left).copied() {
        acknowledge(&mut sender, at(10), frame, 100_000);
        left += 1;
        sent.extend(burst(&mut sender, at(10)));
    }
    let grown = sender.congestion().window();
    assert!(grown > 10_000);
    sender.write(at(9_000), 1, &rules());
    assert_eq!(sender.congestion().window(), grown, "not yet silent for long enough");
    for frame in burst(&mut sender, at(9_000)) {
        acknowledge(&mut sender, at(9_010), frame, 100_000);
    }
    sender.write(at(30_000), 1, &rules());
    assert_eq!(sender.congestion().window(), 10_000);
}
