//! The recorder continues to read for any content that a server's wild stores leave in the shared
//! memory.
//!
//! Raw bytes would rarely get past the header. An input is therefore a list of stores, each a
//! position and a word, with reads of the memory in between.
#![no_main]

use corehop_wire::ring::{Drain, Memory, Message, Piece, Settings, Sink};
use libfuzzer_sys::fuzz_target;
use std::convert::Infallible;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Counts what it receives.
#[derive(Default)]
struct Counter {
    events: u64,
    messages: u64,
}

impl Sink for Counter {
    type Error = Infallible;

    fn message(&mut self, _: Message) -> Result<(), Infallible> {
        self.messages += 1;
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Infallible> {
        self.events += piece.events().count() as u64;
        Ok(())
    }
}

/// Makes all other queries of the recorder and the plugin.
fn ask(memory: &Memory) {
    let _ = (memory.is_stopped(), memory.is_loaded(), memory.is_paused());
    let _ = (memory.recorder_is_gone(), memory.waited(), memory.marker());
    let _ = (memory.requests(), memory.is_exhausted());
    assert_ne!(memory.distance_to_next(), Some(0));
    if memory.count_mark().chosen {
        memory.count_end();
    }
    let _ = (memory.next_connection(), memory.next_block());
}

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings {
        chunk_words: 16,
        chunks: 4,
        control_words: 2048,
        listed: 2,
        ..Settings::default()
    };
    let (memory, file) = Memory::create(&settings).expect("room");
    memory.set_listed(&[1, 3]);
    let file = File::from(file);
    let places = file.metadata().expect("a size").len() / 8;
    let mut drain = Drain::new(&memory);
    let mut counter = Counter::default();
    for stores in bytes.chunks(60) {
        for store in stores.chunks_exact(10) {
            let (place, word) = store.split_at(2);
            let place = u16::from_le_bytes(place.try_into().expect("two bytes"));
            file.write_all_at(word, u64::from(place) % places * 8)
                .expect("within the memory");
        }
        let Ok(words) = drain.pass(&mut counter);
        // Four chunks of 16 words; there are at most as many messages as the ring has words.
        assert!(words <= 64);
        ask(&memory);
    }
    assert!(counter.messages <= 2048 * (1 + bytes.len() as u64 / 60));
});
