//! Many messages to the same machines, with time going on in between.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| slotcast_fuzz::converse(script));
