//! Chunks of 1 MiB over UDP on the loopback, against what the loopback can do with datagrams of that size:
//! measured by `iperf3`, where it is installed, and by a plain sender and receiver here.
//!
//! ```sh
//! cargo run --release -p slotcast-node --example udp_limit -- [SECONDS]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

use std::io;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use slotcast_node::cluster::Encryption;
use slotcast_node::measure;
use slotcast_store::Content;

/// What `mtu = 9000` gives.
const DATAGRAM: usize = 8952;

/// Bytes per second that arrive when one thread sends and another receives.
fn plain(duration: Duration) -> io::Result<f64> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    receiver.set_read_timeout(Some(Duration::from_millis(200)))?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let received = thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut buffer = vec![0; 1 << 16];
            let mut received = 0;
            while let Ok(n) = receiver.recv(&mut buffer) {
                received += n as u64;
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            received
        });
        let datagram = vec![0x5a; DATAGRAM];
        while begun.elapsed() < duration {
            // A full queue is no error: it is what is measured.
            let _ = sender.send(&datagram);
        }
        stop.store(true, Ordering::Relaxed);
        receiving.join().expect("it ends")
    });
    Ok(received as f64 / begun.elapsed().as_secs_f64())
}

/// The same as `iperf3` says; none if it is not there.
fn iperf3(duration: Duration) -> Option<f64> {
    let port = UdpSocket::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port().to_string();
    let mut server = Command::new("iperf3")
        .args(["-s", "-1", "-p", &port])
        .stdout(Stdio::null())
        .spawn()
        .ok()?;
    thread::sleep(Duration::from_millis(300));
    let seconds = duration.as_secs().max(1).to_string();
    let length = DATAGRAM.to_string();
    let client = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-p", &port, "-u", "-b", "0", "-l", &length])
        .args(["-t", &seconds, "-J"])
        .output();
    let _ = server.wait();
    let report: serde_json::Value = serde_json::from_slice(&client.ok()?.stdout).ok()?;
    let sum = &report["end"]["sum"];
    let lost = sum["lost_percent"].as_f64()? / 100.0;
    Some(sum["bits_per_second"].as_f64()? / 8.0 * (1.0 - lost))
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(3, |n| n.parse().expect("a number of seconds"));
    let duration = Duration::from_secs(seconds);
    let contents: Vec<_> = (0..8u8).map(|n| Content::of(Bytes::from(vec![n; 1 << 20]))).collect();
    let plain = plain(duration).expect("a loopback");
    let iperf3 = iperf3(duration);
    println!("plain sender and receiver: {:.0} MB/s", plain / 1e6);
    match iperf3 {
        Some(rate) => println!("iperf3 -u -b 0:            {:.0} MB/s", rate / 1e6),
        None => println!("iperf3 is not installed"),
    }
    let limit = iperf3.unwrap_or(plain);
    let turns = [1, 2, 4].map(|n| [(n, Encryption::Off), (n, Encryption::Only)]);
    for (at_a_time, encryption) in turns.into_iter().flatten() {
        let measured = measure::loopback(&contents, DATAGRAM, at_a_time, duration, encryption);
        let measured = measured.expect("a loopback");
        let rate = (measured.arrived << 20) as f64 / measured.elapsed.as_secs_f64();
        println!(
            "chunks of 1 MiB, {at_a_time} at a time, encryption {encryption:?}: {:.0} MB/s, {:.0} % of the limit; {} arrived, {} failed, {} pieces repeated",
            rate / 1e6,
            rate / limit * 100.0,
            measured.arrived,
            measured.failed,
            measured.repeated,
        );
    }
}
