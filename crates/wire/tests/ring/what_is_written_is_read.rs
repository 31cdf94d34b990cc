//! Checks that a reader receives the words of each of several concurrent threads in order, and
//! every definition before the first word that needs it.

use crate::ring::messages::messages;
use corehop_wire::ring::{
    Drain, Error, Event, Memory, Message, Off, Piece, RequestMarker, STAMP_EVERY, Settings, Sink,
    Stream,
};
use proptest::prelude::*;
use std::collections::HashSet;
use std::convert::Infallible;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Keeps everything, and records executions that were not defined on arrival.
#[derive(Default)]
struct Collect {
    streams: Vec<Vec<Event>>,
    messages: Vec<Message>,
    defined: HashSet<u32>,
    undefined: Vec<u32>,
}

impl Sink for Collect {
    type Error = Infallible;

    fn message(&mut self, message: Message) -> Result<(), Infallible> {
        if let Message::Block { code_block, .. } = message {
            self.defined.insert(code_block);
        }
        self.messages.push(message);
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Infallible> {
        let stream = piece.stream as usize;
        if stream >= self.streams.len() {
            self.streams.resize(stream + 1, Vec::new());
        }
        for event in piece.events() {
            if let Event::Execution { code_block } = event
                && !self.defined.contains(&code_block)
            {
                self.undefined.push(code_block);
            }
            self.streams[stream].push(event);
        }
        Ok(())
    }
}

impl Collect {
    fn pass(&mut self, drain: &mut Drain<'_>) -> u64 {
        match drain.pass(self) {
            Ok(words) => words,
        }
    }
}

fn small(chunks: u32, chunk_words: u32) -> Settings {
    Settings {
        chunks,
        chunk_words,
        ..Settings::default()
    }
}

fn events() -> impl Strategy<Value = Event> {
    let address = 0..1u64 << 47;
    let kernels = address.clone().prop_map(|address| !address);
    let either = prop_oneof![address.clone(), kernels];
    prop_oneof![
        (either, 0..512u16, 0..8u8, any::<bool>()).prop_map(
            |(address, instruction, size_shift, store)| Event::Data {
                address,
                instruction,
                size_shift,
                store
            }
        ),
        any::<u32>().prop_map(|code_block| Event::Execution { code_block }),
        (any::<u16>(), address).prop_map(|(code_block, address)| Event::ExecutionAt {
            code_block,
            address
        }),
        (0..1u64 << 59).prop_map(Event::Stamp),
        (0..1u64 << 59).prop_map(Event::ExecutionStamp),
        (0..1u64 << 60).prop_map(Event::Request),
        (0..1u64 << 60).prop_map(Event::Connection),
        any::<i32>().prop_map(Event::SystemCall),
        (-1_i64 << 58..1 << 58).prop_map(Event::SystemCallReturned),
        Just(Event::End),
    ]
}

fn without_stamps(events: &[Event]) -> Vec<Event> {
    let kept = events.iter().filter(|e| !matches!(e, Event::Stamp(_)));
    kept.copied().collect()
}

/// Pushes an event like the plugin.
fn write<'m>(memory: &'m Memory, stream: &mut Stream<'m>, event: Event) {
    while !stream.push(event.encode()) {
        stream.make_room(memory).expect("recording goes on");
    }
}

proptest! {
    #[test]
    fn an_event_survives_its_word(event in events()) {
        prop_assert_eq!(Event::decode(event.encode()), Some(event));
    }

    #[test]
    fn a_result_too_large_for_a_word_is_the_largest(result in any::<i64>()) {
        let taken = result.clamp(-1 << 58, (1 << 58) - 1);
        let told = Event::decode(Event::SystemCallReturned(result).encode());
        prop_assert_eq!(told, Some(Event::SystemCallReturned(taken)));
    }

    #[test]
    fn messages_arrive_whole_and_in_order(sent in proptest::collection::vec(messages(), 1..60)) {
        let (memory, _file) = Memory::create(&small(1, 16)).unwrap();
        let mut drain = Drain::new(&memory);
        let mut collect = Collect::default();
        for message in &sent {
            memory.send(message).unwrap();
            collect.pass(&mut drain);
        }
        prop_assert_eq!(collect.messages, sent);
    }

    #[test]
    fn threads_that_race_for_few_chunks_lose_nothing(
        chunks in 1..6u32,
        chunk_words in 16..2000u32,
        written in proptest::collection::vec(proptest::collection::vec(events(), 1..3000), 1..5),
    ) {
        let (memory, _file) = Memory::create(&small(chunks, chunk_words)).unwrap();
        let mut collect = Collect::default();
        let left = AtomicUsize::new(written.len());
        std::thread::scope(|scope| {
            for (number, events) in written.iter().enumerate() {
                let (memory, left) = (&memory, &left);
                scope.spawn(move || {
                    let mut stream = Stream::idle();
                    stream.begin(memory, 1, number as u32).unwrap();
                    write(memory, &mut stream, Event::Execution { code_block: number as u32 });
                    for (place, event) in without_stamps(events).into_iter().enumerate() {
                        write(memory, &mut stream, event);
                        if place % 501 == 0 {
                            stream.pause(memory).unwrap();
                            stream.stamp(memory);
                        }
                    }
                    stream.end();
                    left.fetch_sub(1, Ordering::Release);
                });
            }
            let mut drain = Drain::new(&memory);
            while left.load(Ordering::Acquire) > 0 || collect.pass(&mut drain) > 0 {
                collect.pass(&mut drain);
            }
        });
        prop_assert_eq!(collect.streams.len(), written.len());
        let mut stamps = HashSet::new();
        for stream in &collect.streams {
            prop_assert!(matches!(stream[0], Event::Stamp(_)));
            let own = without_stamps(stream);
            let Event::Execution { code_block } = own[0] else {
                return Err(TestCaseError::fail("a stream lost its first word"));
            };
            prop_assert_eq!(&own[1..], &without_stamps(&written[code_block as usize]));
            for stamp in stream.iter().filter(|event| matches!(event, Event::Stamp(_))) {
                prop_assert!(stamps.insert(stamp.encode()), "two threads have one stamp");
            }
        }
    }
}

#[test]
fn stamps_rise_and_are_never_more_than_1024_words_apart() {
    let (memory, _file) = Memory::create(&small(64, 3000)).unwrap();
    let mut stream = Stream::idle();
    stream.begin(&memory, 1, 1).unwrap();
    for _ in 0..100_000 {
        write(&memory, &mut stream, Event::Request(1));
    }
    stream.end();
    let mut collect = Collect::default();
    let mut drain = Drain::new(&memory);
    while collect.pass(&mut drain) > 0 {}
    let (mut since, mut last) = (0, 0);
    for event in &collect.streams[0] {
        since += 1;
        if let Event::Stamp(stamp) = event {
            assert!(*stamp > last);
            (since, last) = (0, *stamp);
        }
        assert!(since < STAMP_EVERY);
    }
    assert_eq!(without_stamps(&collect.streams[0]).len(), 100_000);
}

#[test]
fn a_definition_comes_before_an_execution_by_another_thread() {
    let (memory, _file) = Memory::create(&small(3, 64)).unwrap();
    let newest = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    let mut collect = Collect::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for code_block in 1..2000 {
                let definition = Message::Block {
                    code_block,
                    process: 1,
                    start: 0,
                    instruction_sizes: vec![1; 40],
                    code: vec![0x90; 40],
                    accesses: vec![7; 5],
                };
                memory.send(&definition).unwrap();
                newest.store(code_block as usize, Ordering::Release);
            }
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let mut stream = Stream::idle();
            stream.begin(&memory, 1, 1).unwrap();
            while !done.load(Ordering::Acquire) {
                let code_block = newest.load(Ordering::Acquire) as u32;
                if code_block > 0 {
                    write(&memory, &mut stream, Event::Execution { code_block });
                }
            }
            stream.end();
            memory.stop();
        });
        let mut drain = Drain::new(&memory);
        while !memory.is_stopped() || collect.pass(&mut drain) > 0 {
            collect.pass(&mut drain);
        }
    });
    assert_eq!(collect.undefined, []);
    assert_eq!(collect.defined.len(), 1999);
}

#[test]
fn what_was_written_is_read_though_its_thread_never_ends() {
    let (memory, _file) = Memory::create(&Settings::default()).unwrap();
    let mut stream = Stream::idle();
    stream.begin(&memory, 1, 1).unwrap();
    stream.push(Event::Request(1).encode());
    let mut collect = Collect::default();
    let mut drain = Drain::new(&memory);
    assert_eq!(collect.pass(&mut drain), 2);
    assert_eq!(collect.streams, [[Event::Stamp(1), Event::Request(1)]]);
    stream.push(Event::End.encode());
    assert_eq!(collect.pass(&mut drain), 1);
    assert_eq!(collect.streams[0][2], Event::End);
}

#[test]
fn a_thread_without_a_chunk_waits_until_recording_is_stopped() {
    let (memory, _file) = Memory::create(&small(1, 64)).unwrap();
    let mut holder = Stream::idle();
    holder.begin(&memory, 1, 1).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Stream::idle().begin(&memory, 1, 2));
        while memory.waited() < Duration::from_millis(20) {
            assert!(!waiting.is_finished());
            std::thread::yield_now();
        }
        assert!(!waiting.is_finished());
        memory.stop();
        assert_eq!(waiting.join().unwrap(), Err(Off));
    });
}

#[test]
fn a_sleeper_gives_its_chunk_back_when_chunks_run_short() {
    let (memory, _file) = Memory::create(&small(2, 64)).unwrap();
    let mut sleepers = [Stream::idle(), Stream::idle()];
    for sleeper in &mut sleepers {
        sleeper.begin(&memory, 1, 1).unwrap();
    }
    sleepers[0].pause(&memory).unwrap();
    let mut collect = Collect::default();
    collect.pass(&mut Drain::new(&memory));
    let mut third = Stream::idle();
    third.begin(&memory, 1, 3).unwrap();
    assert!(third.is_writing());
}

#[test]
fn the_other_side_opens_what_one_side_made() {
    let (memory, file) = Memory::create(&small(3, 100)).unwrap();
    assert_eq!(memory.marker(), None);
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let other = Memory::open(&path).unwrap();
    let markers = [
        RequestMarker::At {
            path: "/usr/bin/server, really".into(),
            file_offset: 0x1234,
        },
        RequestMarker::SystemCalls,
        RequestMarker::NoOp { number: None },
        RequestMarker::NoOp { number: Some(7) },
    ];
    for marker in markers {
        memory.set_marker(&marker);
        assert_eq!(other.marker(), Some(marker));
    }
    assert_eq!([memory.next_connection(), other.next_connection()], [1, 2]);
    assert_eq!(other.settings().chunk_words, 100);
    other.set_loaded();
    assert!(memory.is_loaded() && !memory.recorder_is_gone());
}

/// Only counts words: the numbers of streams are arbitrary.
struct Count(u64);

impl Sink for Count {
    type Error = Infallible;

    fn message(&mut self, _: Message) -> Result<(), Infallible> {
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Infallible> {
        self.0 += piece.words().iter().len() as u64;
        Ok(())
    }
}

#[test]
fn whatever_a_servers_wild_store_overwrites_the_reader_goes_on() {
    let settings = Settings {
        control_words: 2048,
        ..small(2, 16)
    };
    let places = std::fs::File::from(Memory::create(&settings).unwrap().1);
    let places = places.metadata().unwrap().len() / 4;
    let stores = (0..places).flat_map(|place| WILD.map(|word| (place, word)));
    for ((place, word), read_before) in stores.flat_map(|store| [(store, false), (store, true)]) {
        let (memory, file) = Memory::create(&settings).unwrap();
        let mut stream = Stream::idle();
        stream.begin(&memory, 1, 2).unwrap();
        stream.push(Event::Execution { code_block: 7 }.encode());
        memory.send(&Message::Trouble("none".into())).unwrap();
        let mut drain = Drain::new(&memory);
        let mut count = Count(0);
        if read_before {
            let Ok(words) = drain.pass(&mut count);
            assert_eq!(words, 2, "a stamp and an execution");
        }
        std::fs::File::from(file)
            .write_all_at(&word.to_le_bytes(), place * 4)
            .unwrap();
        for _ in 0..2 {
            let Ok(words) = drain.pass(&mut count);
            assert!(words <= 32, "{words} words after {word:#x} at {place}");
        }
        assert!(count.0 <= 34);
    }
}

/// Half a word each: the other half, which may be another field, stays.
const WILD: [u32; 4] = [0, 1, 1 << 31, u32::MAX];

#[test]
fn a_file_that_no_recorder_made_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory");
    for bytes in [0, 100, 1 << 20] {
        std::fs::write(&path, vec![7; bytes]).unwrap();
        assert!(matches!(Memory::open(&path), Err(Error::Foreign)));
    }
    let missing = Memory::open(&folder.path().join("nothing"));
    assert!(matches!(missing, Err(Error::System { .. })));
}
