//! Datagrams between nodes, and the chunks that they bring.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| slotcast_fuzz::datagrams::hear(script));
