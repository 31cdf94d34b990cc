//! Checks that all functions work with arbitrary bytes in the shared memory. There is no panic and
//! no impossible value, and no thread waits once recording is stopped.

use corehop_wire::ring::{Drain, Event, Memory, Message, Off, Piece, Settings, Sink, Stream};
use proptest::prelude::*;
use std::convert::Infallible;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Decodes everything.
struct Reader;

impl Sink for Reader {
    type Error = Infallible;

    fn message(&mut self, _: Message) -> Result<(), Infallible> {
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Infallible> {
        let events = piece.events().count();
        assert!(events <= piece.words().iter().len());
        let mut copy = Vec::new();
        let others = piece.words().copy_while(&mut copy, |word| word != 0);
        assert_eq!(copy.len() + others.iter().len(), piece.words().iter().len());
        assert!(piece.words().split_first().is_some());
        Ok(())
    }
}

fn settings(listed: u32) -> Settings {
    Settings {
        chunk_words: 16,
        chunks: 4,
        control_words: 2048,
        request_limit: 10,
        listed,
    }
}

/// Generates places, in words modulo their number, and values to store there: often those at which
/// counters overflow.
fn stores() -> impl Strategy<Value = Vec<(usize, u64)>> {
    let word = prop_oneof![
        any::<u64>(),
        (0..4u64).prop_map(|less| u64::MAX - less),
        0..4u64,
        Just(u64::MAX << 32),
    ];
    // Most of the counters are in the header.
    let place = prop_oneof![0..128usize, any::<usize>()];
    proptest::collection::vec((place, word), 1..200)
}

fn scribble(file: &File, stores: &[(usize, u64)]) {
    let places = file.metadata().unwrap().len() as usize / 8;
    for &(place, word) in stores {
        let offset = (place % places * 8) as u64;
        file.write_all_at(&word.to_le_bytes(), offset).unwrap();
    }
}

/// Calls all functions of the recorder.
fn read(memory: &Memory, drain: &mut Drain<'_>) {
    let Ok(words) = drain.pass(&mut Reader);
    let sizes = memory.settings();
    assert!(words <= u64::from(sizes.chunks) * u64::from(sizes.chunk_words));
    let _ = (memory.is_stopped(), memory.is_loaded(), memory.is_paused());
    let _ = (memory.recorder_is_gone(), memory.waited(), memory.marker());
    let _ = (memory.is_exhausted(), memory.is_next_near());
    let most = sizes.request_limit.max(sizes.listed.into());
    assert!(memory.requests().chosen <= most);
    assert_ne!(memory.distance_to_next(), Some(0));
    memory.set_paused(true);
    assert!(memory.is_paused() && memory.distance_to_next().is_none());
    memory.set_paused(false);
    assert!(!memory.is_paused());
}

/// Calls all functions of the server's threads.
fn write<'m>(memory: &'m Memory, stream: &mut Stream<'m>) {
    for _ in 0..3 {
        stream.push(Event::End.encode());
        stream.stamp(memory);
        if memory.count_mark().chosen {
            memory.decline();
        }
        memory.count_end();
    }
    let _ = (memory.next_connection(), memory.next_block());
    memory.stop();
    assert!(memory.is_stopped());
    let words = Message::Block {
        code_block: 1,
        process: 2,
        start: 3,
        instruction_sizes: vec![4; 512],
        code: vec![0x90; 2048],
        accesses: vec![5; 1024],
    };
    // Two are more than the ring can contain: the second would wait until the first is read.
    let _ = (memory.send(&words), memory.send(&words));
    assert_eq!(stream.pause(memory), Err(Off));
    assert_eq!(stream.make_room(memory), Err(Off));
    assert_eq!(Stream::idle().begin(memory, 1, 2), Err(Off));
}

proptest! {
    #[test]
    fn scribbled_memory_is_read_and_written(
        listed in 0..4u32,
        passes in proptest::collection::vec(stores(), 1..4),
    ) {
        let (memory, file) = Memory::create(&settings(listed)).unwrap();
        let file = File::from(file);
        memory.set_listed(&(1..=u64::from(listed)).collect::<Vec<_>>());
        let mut drain = Drain::new(&memory);
        let mut stream = Stream::idle();
        stream.begin(&memory, 1, 2).unwrap();
        for stores in &passes {
            scribble(&file, stores);
            read(&memory, &mut drain);
        }
        write(&memory, &mut stream);
        read(&memory, &mut drain);
    }

    #[test]
    fn scribbled_memory_is_opened_or_refused(stores in stores()) {
        let (_memory, file) = Memory::create(&settings(2)).unwrap();
        let file = File::from(file);
        scribble(&file, &stores);
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        if let Ok(other) = Memory::open(&path) {
            read(&other, &mut Drain::new(&other));
        }
    }
}

/// The texts of messages, in order.
struct Texts(Vec<String>);

impl Sink for Texts {
    type Error = Infallible;

    fn message(&mut self, message: Message) -> Result<(), Infallible> {
        if let Message::Trouble(text) = message {
            self.0.push(text);
        }
        Ok(())
    }

    fn piece(&mut self, _: Piece<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Number of words of a message whose text has eight letters for each word except two.
const WORDS: u64 = 101;

/// Finds the counts of sent and read words when both are [`WORDS`]: no other word in this memory
/// has that value.
fn counts_of_words(file: &File) -> [u64; 2] {
    let places = file.metadata().unwrap().len() / 8;
    let is_count = |place: &u64| {
        let mut word = [0; 8];
        file.read_exact_at(&mut word, place * 8).unwrap();
        u64::from_le_bytes(word) == WORDS
    };
    let places: Vec<u64> = (0..places).filter(is_count).collect();
    places.try_into().unwrap()
}

#[test]
fn messages_go_on_after_the_counts_of_their_words_are_overwritten() {
    for (wild, which) in WILD.into_iter().flat_map(|wild| [(wild, 0), (wild, 1)]) {
        let (memory, file) = Memory::create(&settings(0)).unwrap();
        let file = File::from(file);
        let mut drain = Drain::new(&memory);
        let mut texts = Texts(Vec::new());
        let say = |text: &str| memory.send(&Message::Trouble(text.into())).unwrap();
        say(&"eight...".repeat(WORDS as usize - 2));
        let Ok(_) = drain.pass(&mut texts);
        let place = counts_of_words(&file)[which];
        file.write_all_at(&wild.to_le_bytes(), place * 8).unwrap();
        let Ok(_) = drain.pass(&mut texts);
        say("after");
        let Ok(_) = drain.pass(&mut texts);
        let last = texts.0.last().map(String::as_str);
        assert_eq!(last, Some("after"), "{wild:#x} at {place}");
    }
}

const WILD: [u64; 5] = [0, 7, 1 << 40, u64::MAX - 1, u64::MAX];
