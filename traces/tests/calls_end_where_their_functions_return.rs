//! Calls in traces of made-up programs end where the program that was recorded says: programs that
//! call, jump to functions, return, throw past callers, and do what only looks like a call.

#[path = "definitions/mod.rs"]
mod definitions;

use corehop_traces::{
    Call, Calls, CodeBlock, EndReason, Error, Kind, Trace, Writer, WriterOptions,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

const CODE: u64 = 0x40_0000;
const FUNCTIONS: u32 = 4;
const THREADS: usize = 2;
/// Where the stack of each thread begins.
const STACK: u64 = 0x7000_0000;

/// What a thread does next.
#[derive(Clone, Debug)]
enum Action {
    /// Calls a function, which has so many words of its own; by way of a linkage table or not.
    Call(u32, u64, bool),
    /// Jumps to a function, at the end of its own.
    Jump(u32),
    Return,
    /// Leaves so many calls, if there are as many, without returning from them.
    Throw(usize),
    /// Stores where a code block ends, and goes on behind it.
    StoreAtEnd(u64),
    /// Repeats an instruction that stores.
    Repeat(u64),
    /// Jumps to where a table says.
    JumpByTable(u64),
}

/// Code blocks; the last instruction of each is what accesses.
#[derive(Clone, Copy)]
enum Code {
    Function(u32),
    Call,
    Return,
    LinkageTable,
    Store,
    BehindStore,
    Repeated,
    Landing,
}

const OTHERS: [Code; 7] = [
    Code::Call,
    Code::Return,
    Code::LinkageTable,
    Code::Store,
    Code::BehindStore,
    Code::Repeated,
    Code::Landing,
];

impl Code {
    /// Number of the code block.
    fn number(self) -> u32 {
        let of_others = match self {
            Code::Function(function) => return function,
            Code::Call => 0,
            Code::Return => 1,
            Code::LinkageTable => 2,
            Code::Store => 3,
            Code::BehindStore => 4,
            Code::Repeated => 5,
            Code::Landing => 6,
        };
        FUNCTIONS + of_others
    }

    /// Where the block lies.
    fn start(self) -> u64 {
        match self {
            Code::BehindStore => Code::Store.start() + 9,
            code => CODE + 64 * u64::from(code.number()),
        }
    }

    /// A function's block is one instruction, and so is one that repeats it; others are two.
    fn instruction_sizes(self) -> &'static [u8] {
        match self {
            Code::Function(_) | Code::Repeated => &[4],
            _ => &[4, 5],
        }
    }
}

/// A recorded thread, which knows what it does.
#[derive(Default)]
struct Thread {
    /// Executions so far.
    executions: u64,
    /// Open calls.
    frames: Vec<Frame>,
    /// Calls that were left by throwing.
    thrown: Vec<usize>,
    calls: Vec<Call>,
}

/// An open call.
struct Frame {
    return_address_at: u64,
    own_words: u64,
    /// Which of the thread's calls end with it.
    calls: Vec<usize>,
}

struct Program {
    writer: Writer,
    threads: Vec<Thread>,
}

impl Program {
    fn run(&mut self, thread: usize, code: Code, data: Option<(Kind, u64)>) {
        let number = thread as u32;
        self.writer.execution(number, code.number()).unwrap();
        if let Some((kind, address)) = data {
            let last = code.instruction_sizes().len() as u16 - 1;
            self.writer.data(number, last, kind, 8, address).unwrap();
        }
        self.threads[thread].executions += 1;
    }

    fn enter(&mut self, thread: usize, function: u32) {
        let own = &mut self.threads[thread];
        if let Some(frame) = own.frames.last_mut() {
            frame.calls.push(own.calls.len());
        }
        own.calls.push(Call {
            function,
            begins: own.executions,
            ends: None,
        });
        self.run(thread, Code::Function(function), None);
    }

    /// These calls, and those left by throwing, end before the thread's next execution.
    fn end(&mut self, thread: usize, calls: &[usize]) {
        let own = &mut self.threads[thread];
        for call in own.thrown.drain(..).chain(calls.iter().copied()) {
            own.calls[call].ends = Some(own.executions);
        }
    }

    fn act(&mut self, thread: usize, action: &Action) {
        let own = &mut self.threads[thread];
        match *action {
            Action::Call(function, own_words, by_table) => {
                let caller = own.frames.last();
                let below = caller.map_or(STACK, |f| f.return_address_at - 8 * f.own_words);
                let address = below - 8;
                own.frames.push(Frame {
                    return_address_at: address,
                    own_words,
                    calls: Vec::new(),
                });
                self.run(thread, Code::Call, Some((Kind::Store, address)));
                self.end(thread, &[]);
                if by_table {
                    self.run(thread, Code::LinkageTable, Some((Kind::Load, STACK + 4096)));
                }
                self.enter(thread, function);
            }
            // Nobody can tell whose call goes on until the one after the throw.
            Action::Jump(_) if !own.thrown.is_empty() => {}
            Action::Jump(function) => self.enter(thread, function),
            Action::Return => {
                if let Some(frame) = own.frames.pop() {
                    let from = (Kind::Load, frame.return_address_at);
                    self.run(thread, Code::Return, Some(from));
                    self.end(thread, &frame.calls);
                }
            }
            Action::Throw(count) => {
                let left = own.frames.len().saturating_sub(count);
                let thrown = own.frames.split_off(left);
                own.thrown.extend(thrown.into_iter().flat_map(|f| f.calls));
                self.run(thread, Code::Landing, None);
            }
            Action::StoreAtEnd(address) => {
                self.run(thread, Code::Store, Some((Kind::Store, address)));
                self.run(thread, Code::BehindStore, None);
            }
            Action::Repeat(address) => {
                self.run(thread, Code::Repeated, Some((Kind::Store, address)));
                self.run(thread, Code::Repeated, None);
            }
            Action::JumpByTable(address) => {
                self.run(thread, Code::LinkageTable, Some((Kind::Load, address)));
            }
        }
    }
}

/// Records what the threads do, by action and thread; the calls of each.
fn record(path: &Path, actions: &[(usize, Action)]) -> Result<Vec<Vec<Call>>, Error> {
    let options = WriterOptions {
        executions_per_block: 7,
        ..WriterOptions::default()
    };
    let (mut writer, module) = definitions::begin(path, &options, "f0", CODE)?;
    for number in 0..FUNCTIONS {
        let function = (&*format!("f{number}"), 64 * u64::from(number));
        definitions::function(&mut writer, (module, CODE), function, None)?;
    }
    for code in OTHERS {
        let block = CodeBlock::new(code.start(), code.instruction_sizes().iter().copied());
        assert_eq!(writer.code_block(&block, None)?, code.number());
    }
    let mut program = Program {
        writer,
        threads: Vec::new(),
    };
    for thread in 0..THREADS {
        program.writer.thread(1, thread as u32)?;
        program.threads.push(Thread::default());
    }
    for (stamp, (thread, action)) in (1..).zip(actions) {
        program.writer.stamp(*thread as u32, stamp)?;
        program.act(*thread, action);
    }
    program.writer.finish(EndReason::Interrupted)?;
    let calls = |mut thread: Thread| {
        let at_end = Some(thread.executions);
        for call in &mut thread.calls {
            call.ends = call.ends.filter(|_| call.ends != at_end);
        }
        thread.calls
    };
    Ok(program.threads.into_iter().map(calls).collect())
}

fn actions() -> impl Strategy<Value = Vec<(usize, Action)>> {
    let elsewhere = prop_oneof![0u64..4096, STACK..STACK + 4096];
    let action = prop_oneof![
        6 => (0..FUNCTIONS, 0u64..3, any::<bool>())
            .prop_map(|(function, words, by_table)| Action::Call(function, words, by_table)),
        2 => (0..FUNCTIONS).prop_map(Action::Jump),
        6 => Just(Action::Return),
        1 => (0usize..4).prop_map(Action::Throw),
        1 => elsewhere.clone().prop_map(Action::StoreAtEnd),
        1 => elsewhere.clone().prop_map(Action::Repeat),
        1 => elsewhere.prop_map(Action::JumpByTable),
    ];
    vec((0..THREADS, action), 0..100)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    })]
    #[test]
    fn calls_begin_and_end_as_the_program_made_them(
        actions in actions(),
        asked in vec(any::<bool>(), FUNCTIONS as usize),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made-up.trace");
        let made = record(&path, &actions).unwrap();
        let trace = Trace::open(&path).unwrap();
        let found = Calls::of(&trace, &asked).unwrap();
        for (thread, mut calls) in (0..).zip(made) {
            calls.retain(|call| asked[call.function as usize]);
            prop_assert_eq!(found.of_thread(thread), &calls[..]);
            for call in calls {
                prop_assert_eq!(found.end_of(thread, call.begins), call.ends);
            }
        }
        prop_assert_eq!(found.of_thread(THREADS as u32), &[]);
    }
}

#[test]
fn a_function_that_another_jumps_to_ends_with_the_call_of_that() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made-up.trace");
    let call = |function| (0, Action::Call(function, 1, false));
    let actions = [
        call(0),
        call(1),
        (0, Action::Jump(2)),
        (0, Action::Return),
        call(3),
    ];
    record(&path, &actions).unwrap();
    let found = Calls::of(&Trace::open(&path).unwrap(), &[true; 4]).unwrap();
    let found = found.of_thread(0).iter();
    let found: Vec<_> = found
        .map(|call| (call.function, call.begins, call.ends))
        .collect();
    // Each call is two executions, the jump and the return one.
    let expected = [(0, 1, None), (1, 3, Some(6)), (2, 4, Some(6)), (3, 7, None)];
    assert_eq!(found, expected);
}

#[test]
fn of_the_bundled_samples_entries_all_but_those_at_its_edges_are_seen_to_return() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/mariadb-tpcc.trace");
    let trace = Trace::open(path.as_ref()).unwrap();
    let calls = Calls::of(&trace, &vec![true; trace.functions().len()]).unwrap();
    let threads = 0..trace.threads().len() as u32;
    let calls: Vec<Call> = threads.flat_map(|t| calls.of_thread(t).to_vec()).collect();
    let open = calls.iter().filter(|call| call.ends.is_none());
    let name = |call: &Call| &*trace.functions()[call.function as usize].name;
    let open: Vec<&str> = open.map(name).collect();
    assert_eq!((calls.len(), open.len()), (780_723, 39));
    // Of the connection's thread the first, whose call came before the recording, and the last;
    // of the others what they wait in.
    let short = open.iter().map(|name| name.split('(').next().unwrap());
    let short: Vec<_> = short.take(3).collect();
    assert_eq!(short, ["dispatch_command", "do_command", "__poll"]);
}
