//! Any bytes are either a trace, which is read and played to its end or to an error, or are
//! refused.
//!
//! Checksums would refuse nearly all inputs of a fuzzer, so they are corrected first.
#![no_main]

use corehop_traces::{Listener, Played, Player, Trace};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

/// Ignores everything that is played.
struct Deaf;

impl Listener for Deaf {
    fn run(&mut self, _: u64) {}
    fn played(&mut self, _: Played<'_>) {}
}

/// Returns the same entries, each with the correct number and checksum for its position and bytes.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut rest = &mut bytes[..];
    let mut number: u32 = 0;
    while let Some(words) = rest.get(4..8) {
        let words = u32::from_le_bytes(words.try_into().expect("four bytes"));
        let length = 8 + 8 * words as usize;
        if length < 32 || length > rest.len() {
            break;
        }
        let (entry, after) = rest.split_at_mut(length);
        entry[16..20].copy_from_slice(&number.to_le_bytes());
        entry[20..24].fill(0);
        let checksum = crc32c::crc32c(entry);
        entry[20..24].copy_from_slice(&checksum.to_le_bytes());
        rest = after;
        number += 1;
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&mended(bytes)).expect("room for a small file");
    if let Ok(trace) = Trace::open(file.path()) {
        let mut executions = trace.executions();
        while let Ok(Some(_)) = executions.next() {}
        let player = || Player::new(&trace, None, &[true]).ok();
        let players = [player(), player().map(|player| player.stripped(64))];
        for mut player in players.into_iter().flatten() {
            for chunk in trace.chunks(None) {
                let _ = player.play(chunk, &mut Deaf);
            }
        }
    }
});
