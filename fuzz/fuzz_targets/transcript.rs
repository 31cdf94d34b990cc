//! For any content of the shared memory, the recorder either creates a readable trace from it, or
//! reports why it cannot.
//!
//! Raw bytes would rarely get past the header. An input is therefore a list of positions and words.
//! At first, each word is published by a thread of the server, after the definition of two code
//! blocks. From the first position that is not 0 on, each word is a wild store there. The memory is
//! read in between.
#![no_main]

use corehop_recorder::transcript::{Modules, Transcript};
use corehop_wire::ring::{Drain, Memory, Message, Settings, Stream};
use corehop_traces::{EndReason, Header, Trace, Writer, WriterOptions};
use libfuzzer_sys::fuzz_target;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Messages of the plugin before the server runs: code, and memory of the server.
fn definitions() -> Vec<Message> {
    let block = |code_block| Message::Block {
        code_block,
        process: 1,
        start: 0x1000 + u64::from(code_block) * 0x100,
        instruction_sizes: vec![2; 4],
        // mov eax, [rax], which turns any load into an address.
        code: [0x8b, 0x00].repeat(4),
        accesses: Vec::new(),
    };
    let mapping = Message::Mapping {
        process: 1,
        start: 0x1000,
        end: 0x2000,
        file_offset: 0,
        path: "/server".into(),
    };
    vec![mapping, block(0), block(1)]
}

/// Reads the input's content of the memory; returns `None` once no trace can be created.
fn record(bytes: &[u8], memory: &Memory, file: &File, transcript: &mut Transcript) -> Option<()> {
    let places = file.metadata().expect("a size").len() / 8;
    for message in definitions() {
        memory.send(&message).expect("room for a message");
    }
    let mut drain = Drain::new(memory);
    let mut stream = Stream::idle();
    stream.begin(memory, 1, 2).expect("a free chunk");
    let mut publishes = true;
    for group in bytes.chunks(60) {
        for entry in group.chunks_exact(10) {
            let (place, word) = entry.split_at(2);
            let place = u16::from_le_bytes(place.try_into().expect("two bytes"));
            publishes &= place == 0;
            if publishes {
                let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
                // A full chunk accepts no word until a stamp begins the next one.
                publishes &= stream.push(word) || stream.stamp(memory) && stream.push(word);
            } else {
                file.write_all_at(word, u64::from(place) % places * 8)
                    .expect("within the memory");
            }
        }
        drain.pass(transcript).ok()?;
    }
    transcript.flush().ok()?;
    transcript.note(1, "a note").ok()?;
    transcript.end().ok()
}

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings {
        chunk_words: 16,
        chunks: 4,
        control_words: 2048,
        ..Settings::default()
    };
    let (memory, file) = Memory::create(&settings).expect("room");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trace");
    let options = WriterOptions::default();
    let writer = Writer::create(&path, &Header::default(), &options).expect("room for a file");
    let mut transcript = Transcript::new(writer, Modules::unread(), Arc::new(|_| {}));
    if record(bytes, &memory, &File::from(file), &mut transcript).is_none() {
        return;
    }
    let executions = transcript.progress().executions;
    let Ok(summary) = transcript.into_writer().finish(EndReason::ServerExited) else {
        return;
    };
    assert_eq!(summary.executions, executions);
    let trace = Trace::open(&path).expect("a whole trace");
    let mut played = trace.executions();
    let mut count = 0;
    while played.next().expect("an execution of the trace").is_some() {
        count += 1;
    }
    assert_eq!(count, executions);
});
