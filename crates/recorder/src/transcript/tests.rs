//! However a stream of words is cut into pieces, and executions are cut by stamps, the trace is the
//! same. Processing executions as a whole equals processing word by word, and accesses omitted from
//! the words are restored.

use super::*;
use corehop_traces::{Access, EndReason, Header, Request, RequestId, Trace, WriterOptions};
use corehop_wire::elision::Address;
use corehop_wire::ring::{Drain, Memory, Settings, Stream};
use proptest::prelude::*;

const INSTRUCTIONS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    /// A code block and its accesses: instruction, size, whether it is a store, and line.
    Execution(u32, Vec<(usize, u32, bool, u64)>),
    /// The code block with the accesses of [`plain`]: whether the first word contains the address
    /// of the first one, this address, and the accesses between it and the last.
    Plain(bool, u64, Vec<(u32, bool, u64)>),
    Stamp,
    Request,
    End,
}

/// The code block of [`Step::Plain`], with omitted accesses and with all.
const PLAIN: u32 = 3;
const PLAIN_SEEN: u32 = 4;

/// Returns its accesses: a store at an address, one a line further, and a load from a fixed
/// address. Its third instruction makes all other accesses.
fn plain() -> [corehop_wire::elision::PlainAccess; 3] {
    let from = Address::From {
        access: 0,
        distance: 64,
    };
    let fixed = Address::FromCode(5 * 64 - start_of(PLAIN).cast_signed());
    let access = |(instruction, address)| corehop_wire::elision::PlainAccess {
        form: AccessForm {
            instruction,
            size_shift: 3,
            store: instruction < 2,
        },
        address,
    };
    [(0, Address::Recorded), (1, from), (3, fixed)].map(access)
}

fn start_of(code_block: u32) -> u64 {
    0x1000 + u64::from(code_block.min(PLAIN)) * 0x100
}

fn execution() -> impl Strategy<Value = Step> {
    // Few addresses, places and sizes, so that repetitions and exceptions are frequent.
    let access = (0..INSTRUCTIONS, 2..4u32, any::<bool>(), 0..6u64);
    let accesses = proptest::collection::vec(access, 0..7).prop_map(|mut accesses| {
        accesses.sort();
        accesses
    });
    let usual = Just(vec![(0, 3, false, 1), (1, 3, true, 2), (3, 2, false, 3)]);
    let accesses = prop_oneof![3 => usual, 1 => accesses];
    (0..3u32, accesses).prop_map(|(block, accesses)| Step::Execution(block, accesses))
}

fn plain_execution() -> impl Strategy<Value = Step> {
    let others = proptest::collection::vec((2..4u32, any::<bool>(), 0..3u64), 0..2);
    (any::<bool>(), 0..4u64, others)
        .prop_map(|(leads, first, others)| Step::Plain(leads, first, others))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => execution(),
        6 => plain_execution(),
        1 => Just(Step::Stamp),
        1 => Just(Step::Request),
        1 => Just(Step::End),
    ];
    proptest::collection::vec(step, 1..80)
}

/// Returns the words, with `None` for a stamp; with or without elision.
fn words_of(steps: &[Step], stamped: &[bool], elided: bool) -> Vec<Option<u64>> {
    let mut words = Vec::new();
    let mut stamped = stamped.iter().cycle();
    for (number, step) in (1..).zip(steps) {
        match step {
            Step::Execution(code_block, accesses) => {
                let code_block = *code_block;
                words.push(Some(Event::Execution { code_block }.encode()));
                for &(place, size_shift, store, address) in accesses {
                    if *stamped.next().unwrap_or(&false) {
                        words.push(None);
                    }
                    words.push(Some(data_word(place, size_shift, store, address * 64)));
                }
            }
            Step::Plain(leads, first, others) => {
                let first = first * 64;
                let template = word::execution_at_template(PLAIN).filter(|_| elided && *leads);
                let code_block = if elided { PLAIN } else { PLAIN_SEEN };
                let begins = Event::Execution { code_block }.encode();
                words.push(Some(
                    template.map_or(begins, |template| word::at(template, first)),
                ));
                if template.is_none() {
                    words.push(Some(data_word(0, 3, true, first)));
                }
                if !elided {
                    words.push(Some(data_word(1, 3, true, first + 64)));
                }
                for &(size_shift, store, address) in others {
                    words.push(Some(data_word(2, size_shift, store, address * 64)));
                }
                if !elided {
                    words.push(Some(data_word(3, 3, false, 5 * 64)));
                }
            }
            Step::Stamp => words.push(None),
            Step::Request => words.push(Some(Event::Request(number).encode())),
            Step::End => words.push(Some(Event::End.encode())),
        }
    }
    words
}

fn data_word(place: usize, size_shift: u32, store: bool, address: u64) -> u64 {
    let size_and_kind = word::size_and_kind(size_shift, store);
    word::at(word::data_template(place) | size_and_kind, address)
}

/// The executions and requests that a replay of the trace visits.
#[derive(Debug, PartialEq)]
struct Met {
    executions: Vec<(Option<RequestId>, u32, Vec<Access>)>,
    requests: Vec<Request>,
}

/// Returns the contents of the trace of these words, delivered at each of `cuts` and at the end.
fn met_in(words: &[Option<u64>], cuts: &[bool]) -> Met {
    stamps_in(words, cuts).0
}

/// The same, with the stamp of each execution.
fn stamps_in(words: &[Option<u64>], cuts: &[bool]) -> (Met, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let header = Header::default();
    let writer = Writer::create(&path, &header, &WriterOptions::default()).unwrap();
    let mut transcript = Transcript::new(writer, Modules::unread(), Arc::new(|_| {}));
    let (memory, _file) = Memory::create(&Settings::default()).unwrap();
    for code_block in 0..=PLAIN_SEEN {
        let accesses = plain()
            .map(corehop_wire::elision::PlainAccess::encode)
            .to_vec();
        memory
            .send(&Message::Block {
                code_block,
                process: 1,
                start: start_of(code_block),
                instruction_sizes: vec![2; INSTRUCTIONS],
                code: [0x8b, 0x00].repeat(INSTRUCTIONS),
                accesses: if code_block == PLAIN {
                    accesses
                } else {
                    Vec::new()
                },
            })
            .unwrap();
    }
    let mut drain = Drain::new(&memory);
    let mut stream = Stream::idle();
    stream.begin(&memory, 1, 2).unwrap();
    for (&word, &cut) in words.iter().zip(cuts.iter().cycle()) {
        assert!(match word {
            Some(word) => stream.push(word),
            None => stream.stamp(&memory),
        });
        if cut {
            drain.pass(&mut transcript).unwrap();
        }
    }
    stream.end();
    drain.pass(&mut transcript).unwrap();
    transcript.end().unwrap();
    let executions = transcript.progress().executions;
    let writer = transcript.into_writer();
    let summary = writer.finish(EndReason::ServerExited).unwrap();
    assert_eq!(summary.executions, executions);
    let trace = Trace::open(&path).unwrap();
    let mut met = Met {
        executions: Vec::new(),
        requests: trace.requests().to_vec(),
    };
    let mut stamps = Vec::new();
    let mut played = trace.executions();
    while let Some(execution) = played.next().unwrap() {
        let accesses = execution.accesses.to_vec();
        stamps.push(execution.stamp);
        met.executions
            .push((execution.request, execution.code_block, accesses));
    }
    let accesses = met.executions.iter().map(|(.., all)| all.len() as u64);
    assert_eq!(accesses.sum::<u64>(), summary.accesses);
    assert_eq!(met.executions.len() as u64, executions);
    (met, stamps)
}

proptest! {
    #[test]
    fn a_trace_does_not_depend_on_how_its_words_were_cut(
        steps in steps(),
        stamped in proptest::collection::vec(proptest::bool::weighted(0.05), 1..40),
        cuts in proptest::collection::vec(any::<bool>(), 1..40),
    ) {
        let words = words_of(&steps, &stamped, true);
        let word_by_word = met_in(&words, &[true]);
        let is_execution = |step: &&Step| matches!(step, Step::Execution(..) | Step::Plain(..));
        let executions = steps.iter().filter(is_execution).count();
        prop_assert_eq!(word_by_word.executions.len(), executions);
        prop_assert_eq!(&met_in(&words, &[false]), &word_by_word);
        prop_assert_eq!(&met_in(&words, &cuts), &word_by_word);
        prop_assert_eq!(&met_in(&words_of(&steps, &stamped, false), &cuts), &word_by_word);
    }
}

#[test]
fn a_stamp_of_an_execution_holds_for_all_of_it_and_for_what_follows() {
    let [execution, data] = [
        Event::Execution { code_block: 0 }.encode(),
        data_word(0, 3, false, 64),
    ];
    let moved = |stamp| Event::ExecutionStamp(stamp).encode();
    let stamp = |stamp| Event::Stamp(stamp).encode();
    let words: [&[u64]; 5] = [
        &[execution, data, execution],
        &[moved(100), data],
        &[execution, data, stamp(101), data, moved(102), data],
        &[execution, stamp(103), data],
        &[execution, moved(104), moved(105)],
    ];
    let words: Vec<Option<u64>> = words.concat().into_iter().map(Some).collect();
    let stamps = [1, 100, 102, 102, 105];
    for cuts in [[true, true], [false, false], [true, false]] {
        let (_, met) = stamps_in(&words, &cuts);
        assert_eq!(met, stamps);
    }
}
