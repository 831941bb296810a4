use super::*;

fn plain(length: usize) -> Vec<u8> {
    (0..length).map(|n| u8::try_from(n * 31 % 251).expect("small")).collect()
}

/// A run, frame by frame.
fn frames(key: &ObjectKey, part: u32, content: &[u8]) -> Vec<Bytes> {
    let mut encryptor = Encryptor::new(key, part).expect("random");
    let mut all = Vec::new();
    // Pieces do not end where frames do.
    for piece in content.chunks(700_001) {
        let mut piece = Bytes::copy_from_slice(piece);
        while !piece.is_empty() {
            all.extend(encryptor.push(&mut piece));
        }
    }
    all.extend(encryptor.finish());
    all
}

fn length(run: &[Bytes]) -> u64 {
    run.iter().map(|frame| frame.len() as u64).sum()
}

fn opened(
    key: &ObjectKey,
    (runs, is_in_parts): (&[Vec<Bytes>], bool),
    (size, range): (u64, Range<u64>),
) -> Result<Vec<u8>, EncryptionError> {
    let lengths: Vec<u64> = runs.iter().map(|run| length(run)).collect();
    let stored: Vec<u8> = runs.iter().flatten().flatten().copied().collect();
    let (mut decryptor, wanted) =
        Decryptor::new(key.clone(), (&lengths, is_in_parts), (size, range))?;
    let mut rest = &stored[wanted.start as usize..wanted.end as usize];
    let mut all = Vec::new();
    while let Some(next) = decryptor.next_length() {
        let (frame, behind) = rest.split_at_checked(next).ok_or(EncryptionError::Altered)?;
        let mut frame = frame.to_vec();
        let wanted = decryptor.open(&mut frame)?;
        all.extend_from_slice(&frame[wanted]);
        rest = behind;
    }
    assert!(rest.is_empty(), "no more is read than is needed");
    Ok(all)
}

#[test]
fn lengths_follow_from_each_other() {
    for plain in [0, 1, PLAIN - 1, PLAIN, PLAIN + 1, 5 * PLAIN, 50 << 40] {
        let stored = stored_length(plain);
        assert_eq!(plain_length(stored), Some(plain), "{plain}");
    }
    assert_eq!(stored_length(1), 1 + OVERHEAD);
    for none in [1, OVERHEAD, FRAME + 1, FRAME + OVERHEAD] {
        assert_eq!(plain_length(none), None, "{none}");
    }
}

#[test]
fn any_range_of_what_was_encrypted_is_read() {
    let key = ObjectKey::random().expect("random");
    let size = 2 * CHUNK_SIZE + 100;
    let content = plain(size);
    let run = frames(&key, 0, &content);
    assert_eq!(run.len(), 3);
    assert!(run[..2].iter().all(|frame| frame.len() as u64 == FRAME));
    let edge = CHUNK_SIZE as u64;
    let all = size as u64;
    for range in
        [0..all, 0..1, edge - 1..edge + 1, edge..2 * edge, all - 1..all, 7..7, 2 * edge..all]
    {
        let wanted = &content[range.start as usize..range.end as usize];
        let read = opened(&key, (std::slice::from_ref(&run), false), (all, range.clone()));
        assert!(read.expect("it is as it was") == wanted, "{range:?}");
    }
    assert!(opened(&key, (&[], false), (0, 0..0)).expect("nothing").is_empty());
}

#[test]
fn parts_are_read_as_one() {
    let key = ObjectKey::random().expect("random");
    let contents = [plain(CHUNK_SIZE + 9), plain(1), plain(CHUNK_SIZE)];
    let runs: Vec<_> =
        contents.iter().zip([1, 7, 8]).map(|(content, n)| frames(&key, n, content)).collect();
    let content = contents.concat();
    let size = content.len() as u64;
    let first = CHUNK_SIZE as u64;
    for range in [0..size, first + 8..first + 11, first..first + 9, size - 1..size] {
        let wanted = &content[range.start as usize..range.end as usize];
        let read = opened(&key, (&runs, true), (size, range.clone())).expect("it is as it was");
        assert!(read == wanted, "{range:?}");
    }
    let is_refused = |runs: &[Vec<Bytes>], is_in_parts, size: u64| {
        matches!(opened(&key, (runs, is_in_parts), (size, 0..size)), Err(EncryptionError::Altered))
    };
    assert!(is_refused(&runs, false, size), "they are no content in one piece");
    assert!(is_refused(&runs[..2], true, size), "one is missing");
    let swapped = [runs[1].clone(), runs[0].clone(), runs[2].clone()];
    assert!(is_refused(&swapped, true, size), "two are swapped");
    let twice = [runs[0].clone(), runs[0].clone()];
    assert!(is_refused(&twice, true, 2 * (first + 9)), "one is there twice");
}

#[test]
fn nothing_is_opened_in_another_place() {
    let (key, other) = (ObjectKey::random().expect("random"), ObjectKey::random().expect("random"));
    let size = 2 * CHUNK_SIZE as u64 + 100;
    let run = frames(&key, 0, &plain(size as usize));
    let is_refused = |key: &ObjectKey, run: &[Bytes], size: u64| {
        let runs = [run.to_vec()];
        matches!(opened(key, (&runs, false), (size, 0..size)), Err(EncryptionError::Altered))
    };
    assert!(!is_refused(&key, &run, size));
    assert!(is_refused(&other, &run, size), "another key");
    assert!(is_refused(&key, &[run[1].clone(), run[0].clone(), run[2].clone()], size), "swapped");
    assert!(is_refused(&key, &run[..2], 2 * CHUNK_SIZE as u64), "the end is missing");
    assert!(is_refused(&key, &run[1..], CHUNK_SIZE as u64 + 100), "the begin is missing");
    let again = frames(&key, 0, &plain(size as usize));
    assert!(is_refused(&key, &[run[0].clone(), again[1].clone(), run[2].clone()], size), "mixed");
    for at in [0, 3, 4, 15, 16, 1000, FRAME as usize - 1] {
        let mut changed = run[0].to_vec();
        changed[at] ^= 0x40;
        let run = [Bytes::from(changed), run[1].clone(), run[2].clone()];
        assert!(is_refused(&key, &run, size), "a bit at {at}");
    }
    assert!(is_refused(&key, &run, size - 1), "another size");
}

#[test]
fn no_two_runs_of_equal_content_are_equal() {
    let key = ObjectKey::random().expect("random");
    let content = Bytes::from(plain(1000));
    let (one, two) = (run(&key, &content).expect("random"), run(&key, &content).expect("random"));
    assert_ne!(one, two);
    assert_eq!(one.len() as u64, stored_length(1000));
    assert!(!one.windows(16).any(|bytes| bytes == &content[..16]));
    assert!(run(&key, &Bytes::new()).expect("random").is_empty());
}
