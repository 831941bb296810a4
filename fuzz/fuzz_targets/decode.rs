//! One datagram: as it is, and with its header made right.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(message) = slotcast_fuzz::decode(bytes) {
        slotcast_fuzz::hear(&message);
    }
    let mut sealed = bytes.to_vec();
    slotcast_fuzz::seal(&mut sealed);
    if let Some(message) = slotcast_fuzz::decode(&sealed) {
        slotcast_fuzz::hear(&message);
    }
});
