//! A process that writes rows is killed again and again.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, io};

use crossbeam_channel::unbounded;
use slotcast_node::Rows;
use slotcast_object::{RowsOp, RowsOpId, RowsOutput};

use crate::disk::RowsOnDisk;

/// Where the process that is killed has its rows.
const FOLDER: &str = "SLOTCAST_TEST_ROWS";

/// Rows of one write, all with its number.
const ROWS: u8 = 20;

fn write(number: u64) -> RowsOp {
    let row = |n: u8| (vec![b'r', n], Some(vec![(number % 251) as u8; 300]));
    let mut rows: Vec<_> = (0..ROWS).map(row).collect();
    rows.push((b"number".to_vec(), Some(number.to_string().into_bytes())));
    RowsOp::Write(rows)
}

/// Writes rows in the folder that it is told, two writes at a time, and says which are done, until it is killed.
#[test]
#[ignore = "another test starts it"]
fn write_until_killed() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let (tell, told) = unbounded();
    let report = Arc::new(move |id, result| drop(tell.send((id, result))));
    let rows = Rows::start(PathBuf::from(folder), 1, report).expect("threads");
    rows.ask(RowsOpId(0), RowsOp::Open);

    let mut next = None;
    for (id, result) in told {
        match result.expect("it works") {
            RowsOutput::Opened(_) => rows.ask(RowsOpId(0), RowsOp::Get(b"number".to_vec())),
            RowsOutput::Got(value) => {
                let number = value.map_or(0, |value| read(&value));
                next = Some(number + 2);
                rows.ask(RowsOpId(number + 1), write(number + 1));
                rows.ask(RowsOpId(number + 2), write(number + 2));
            }
            _ => {
                writeln!(io::stdout(), "\ndone {}", id.0).expect("somebody reads it");
                let next = next.as_mut().expect("it was read");
                *next += 1;
                rows.ask(RowsOpId(*next), write(*next));
            }
        }
    }
}

fn read(value: &[u8]) -> u64 {
    String::from_utf8_lossy(value).parse().expect("a number")
}

#[test]
fn what_was_reported_survives_kills() {
    let mut rows = RowsOnDisk::new();
    let store = rows.open();
    let mut reported = 0;
    for kill in 0..8u64 {
        rows.stop();
        let mut child = Command::new(env::current_exe().expect("it runs"))
            .args(["--ignored", "--exact", "kills::write_until_killed", "--nocapture"])
            .env(FOLDER, rows.names())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let numbers = lines.filter_map(|line| line.ok()?.strip_prefix("done ")?.parse().ok());
        let mut told = 0;
        for number in numbers {
            told += 1;
            reported = number;
            if told == 5 + kill * 37 {
                child.kill().expect("it is a child");
            }
        }
        child.wait().expect("it is a child");
        assert!(told >= 5, "it wrote nothing");
        rows.start();
        assert_eq!(rows.open(), store);
        let Ok(RowsOutput::Got(Some(found))) = rows.run(RowsOp::Get(b"number".to_vec())) else {
            panic!("nothing is there");
        };
        let found = read(&found);
        assert!((reported..=reported + 2).contains(&found), "{reported} was reported, not {found}");
        for n in 0..ROWS {
            let row = rows.run(RowsOp::Get(vec![b'r', n]));
            assert_eq!(row, Ok(RowsOutput::Got(Some(vec![(found % 251) as u8; 300]))));
        }
    }
}
