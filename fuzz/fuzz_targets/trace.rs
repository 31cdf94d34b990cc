//! Any bytes are either a trace, which then reads and plays to its end or to an error, or refused.
#![no_main]

use corehop_traces::{Listener, Played, Player, Trace};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

/// Hears nothing of what is played.
struct Deaf;

impl Listener for Deaf {
    fn run(&mut self, _: u64) {}
    fn played(&mut self, _: Played<'_>) {}
}

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    if let Ok(trace) = Trace::open(file.path()) {
        let mut executions = trace.executions();
        while let Ok(Some(_)) = executions.next() {}
        let player = || Player::new(&trace, None, &[true]).ok();
        let players = [player(), player().map(|player| player.thinned(64))];
        for mut player in players.into_iter().flatten() {
            for block in trace.blocks(None) {
                let _ = player.play(block, &mut Deaf);
            }
        }
    }
});
