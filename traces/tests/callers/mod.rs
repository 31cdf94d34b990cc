//! Programs that call and leave functions in many ways, recorded as traces. They know where each of
//! their calls ends.

use crate::definitions;
use corehop_traces::{
    Call, CodeBlock, EndReason, Error, FunctionId, Kind, ThreadId, Writer, WriterOptions,
};
use std::path::Path;

const CODE: u64 = 0x40_0000;
pub const FUNCTIONS: u32 = 4;
pub const THREADS: usize = 2;
/// Where the stack of each thread begins.
pub const STACK: u64 = 0x7000_0000;
/// Number of calls that each thread is in when its recording begins.
const CALLED_BEFORE: usize = 3;

/// A thread's next action.
#[derive(Clone, Debug)]
pub enum Action {
    /// Calls a function with this many stack words, through a linkage table or not.
    Call(u32, u64, bool),
    /// Makes a tail call of a function.
    Jump(u32),
    /// Returns, by an instruction of one byte or a longer one.
    Return(bool),
    /// Leaves up to this many calls without returning from them.
    Throw(usize),
    /// Stores at the end of a code block, and continues after it.
    StoreAtEnd(u64),
    /// Repeats an instruction that stores.
    Repeat(u64),
    /// Jumps through a table.
    JumpByTable(u64),
    /// Is interrupted by a signal whose handler calls this many functions. Within the last one, a
    /// signal interrupts whose handler calls one fewer. Handlers have a stack of their own or not.
    Signal(u32, bool),
    /// Serves unrecorded requests, returning from up to this many calls, and is then called to
    /// serve a request by this function.
    Gap(usize, u32),
}

/// Code blocks; the last instruction of each makes the access.
#[derive(Clone, Copy)]
enum Code {
    Function(u32),
    Call,
    Return,
    LongReturn,
    LinkageTable,
    Store,
    BehindStore,
    Repeated,
    Landing,
    Handler,
    Restorer,
}

const OTHERS: [Code; 10] = [
    Code::Call,
    Code::Return,
    Code::LongReturn,
    Code::LinkageTable,
    Code::Store,
    Code::BehindStore,
    Code::Repeated,
    Code::Landing,
    Code::Handler,
    Code::Restorer,
];

impl Code {
    /// Returns the number of the code block.
    fn number(self) -> u32 {
        let of_others = match self {
            Code::Function(function) => return function,
            Code::Call => 0,
            Code::Return => 1,
            Code::LongReturn => 2,
            Code::LinkageTable => 3,
            Code::Store => 4,
            Code::BehindStore => 5,
            Code::Repeated => 6,
            Code::Landing => 7,
            Code::Handler => 8,
            Code::Restorer => 9,
        };
        FUNCTIONS + of_others
    }

    /// Returns the start of the block.
    fn start(self) -> u64 {
        match self {
            Code::BehindStore => Code::Store.start() + 9,
            code => CODE + 64 * u64::from(code.number()),
        }
    }

    /// A function's block and a repeated one have one instruction; the others have two.
    fn instruction_sizes(self) -> &'static [u8] {
        match self {
            Code::Function(_) | Code::Repeated => &[4],
            Code::Return => &[4, 1],
            _ => &[4, 5],
        }
    }
}

/// A recorded thread, with its expected calls.
struct Thread {
    /// Number of executions so far.
    executions: u64,
    /// Open calls.
    frames: Vec<Frame>,
    /// Calls that were left by throwing.
    thrown: Vec<Entered>,
    /// Calls that were left in a gap.
    gone: Vec<Entered>,
    calls: Vec<Call>,
}

/// An open call.
struct Frame {
    return_address_at: u64,
    own_words: u64,
    /// Whether the trace contains the call, without a gap since.
    seen: bool,
    /// The functions entered within it.
    entered: Vec<Entered>,
}

/// A function's call, as an index into the thread's calls.
#[derive(Clone, Copy)]
struct Entered {
    call: usize,
    /// Where its return address is, if the trace reveals it.
    return_address_at: Option<u64>,
}

impl Thread {
    fn new() -> Thread {
        let mut thread = Thread {
            executions: 0,
            frames: Vec::new(),
            thrown: Vec::new(),
            gone: Vec::new(),
            calls: Vec::new(),
        };
        for _ in 0..CALLED_BEFORE {
            thread.push_frame(1, false);
        }
        thread
    }

    /// Returns where the return address of the next call will be.
    fn next_return_address_at(&self) -> u64 {
        let caller = self.frames.last();
        caller.map_or(STACK, |f| f.return_address_at - 8 * f.own_words) - 8
    }

    fn push_frame(&mut self, own_words: u64, seen: bool) {
        self.frames.push(Frame {
            return_address_at: self.next_return_address_at(),
            own_words,
            seen,
            entered: Vec::new(),
        });
    }

    /// The thread has called or returned through `address`. This reveals the end of calls below it
    /// that were left without returning. A call at an unknown address is revealed when a function
    /// whose call the trace does not contain returns.
    fn show(&mut self, address: u64, returns_unseen: bool) {
        let ends = Some(self.executions);
        for left in [&mut self.thrown, &mut self.gone] {
            left.retain(|entered| {
                let below = entered.return_address_at.map(|at| at <= address);
                let shows = below.unwrap_or(returns_unseen);
                if shows {
                    self.calls[entered.call].ends = ends;
                }
                !shows
            });
        }
    }

    /// Returns from this many calls in a gap, and from all functions that the thread was in without
    /// a recorded call.
    fn pass_gap(&mut self, returns: usize) {
        let is_unseen = |entered: &Entered| entered.return_address_at.is_none();
        let unseen = |frame: &Frame| frame.entered.iter().any(is_unseen);
        let kept = self.frames.len().saturating_sub(returns);
        let kept = kept.min(self.frames.iter().position(unseen).unwrap_or(kept));
        let gone = self.frames.split_off(kept);
        self.gone
            .extend(gone.into_iter().flat_map(|frame| frame.entered));
        self.gone.append(&mut self.thrown);
        for frame in &mut self.frames {
            frame.seen = false;
        }
        self.push_frame(1, false);
    }
}

struct Program {
    writer: Writer,
    /// Number of requests served so far, recorded or not.
    requests: u64,
    threads: Vec<Thread>,
}

impl Program {
    fn run(&mut self, thread: usize, code: Code, data: Option<(Kind, u64)>) {
        let number = ThreadId::from_index(thread);
        self.writer.execution(number, code.number()).unwrap();
        if let Some((kind, address)) = data {
            let last = code.instruction_sizes().len() as u16 - 1;
            self.writer.data(number, last, kind, 8, address).unwrap();
        }
        self.threads[thread].executions += 1;
    }

    /// Runs a handler whose frame is at `frame`. Its calls do not count.
    fn handle(&mut self, thread: usize, calls: u32, frame: u64) {
        self.run(thread, Code::Handler, None);
        for call in 1..=calls {
            let address = frame - 8;
            self.run(thread, Code::Call, Some((Kind::Store, address)));
            self.run(thread, Code::Function(call % FUNCTIONS), None);
            if call == calls {
                self.handle(thread, calls - 1, frame - 0x400);
            }
            self.run(thread, Code::Return, Some((Kind::Load, address)));
        }
        self.run(thread, Code::Return, Some((Kind::Load, frame)));
        self.run(thread, Code::Restorer, None);
    }

    fn enter(&mut self, thread: usize, function: u32) {
        let own = &mut self.threads[thread];
        if let Some(frame) = own.frames.last_mut() {
            frame.entered.push(Entered {
                call: own.calls.len(),
                return_address_at: frame.seen.then_some(frame.return_address_at),
            });
        }
        own.calls.push(Call {
            function: FunctionId(function),
            begins: own.executions,
            ends: None,
        });
        self.run(thread, Code::Function(function), None);
    }

    fn act(&mut self, thread: usize, action: &Action) {
        let own = &mut self.threads[thread];
        match *action {
            Action::Call(function, own_words, by_table) => {
                let address = own.next_return_address_at();
                own.push_frame(own_words, true);
                self.run(thread, Code::Call, Some((Kind::Store, address)));
                self.threads[thread].show(address, false);
                if by_table {
                    self.run(thread, Code::LinkageTable, Some((Kind::Load, STACK + 4096)));
                }
                self.enter(thread, function);
            }
            // After a throw, the next call is needed to determine whose call continues.
            Action::Jump(_) if own.frames.is_empty() || !own.thrown.is_empty() => {}
            Action::Jump(function) => self.enter(thread, function),
            Action::Return(short) => {
                if let Some(frame) = own.frames.pop() {
                    // A longer instruction cannot be distinguished from a jump.
                    let code = match short || !frame.seen {
                        true => Code::Return,
                        false => Code::LongReturn,
                    };
                    let address = frame.return_address_at;
                    self.run(thread, code, Some((Kind::Load, address)));
                    let own = &mut self.threads[thread];
                    own.show(address, !frame.seen);
                    for entered in frame.entered {
                        own.calls[entered.call].ends = Some(own.executions);
                    }
                }
            }
            Action::Throw(count) => {
                let left = own.frames.len().saturating_sub(count);
                let thrown = own.frames.split_off(left);
                own.thrown
                    .extend(thrown.into_iter().flat_map(|f| f.entered));
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
            Action::Signal(calls, has_own_stack) => {
                let on_stack = own.next_return_address_at() - 0x400;
                let frame = if has_own_stack { 2 * STACK } else { on_stack };
                self.handle(thread, calls, frame);
            }
            Action::Gap(returns, function) => {
                own.pass_gap(returns);
                self.requests += 2;
                let marked = self
                    .writer
                    .numbered_request(ThreadId::from_index(thread), self.requests);
                marked.unwrap();
                self.enter(thread, function);
            }
        }
    }
}

/// Records the threads' actions; returns the calls of each.
pub fn record(path: &Path, actions: &[(usize, Action)]) -> Result<Vec<Vec<Call>>, Error> {
    let options = WriterOptions {
        executions_per_chunk: 7,
        ..WriterOptions::default()
    };
    let (mut writer, module) = definitions::begin(path, &options, "f0", CODE)?;
    definitions::functions(&mut writer, (module, CODE), FUNCTIONS)?;
    for code in OTHERS {
        let block = CodeBlock::new(code.start(), code.instruction_sizes().iter().copied());
        assert_eq!(writer.code_block(&block, None)?, code.number());
    }
    writer.signal_handler(Code::Handler.start())?;
    let mut program = Program {
        writer,
        requests: 0,
        threads: Vec::new(),
    };
    for thread in 0..THREADS {
        program.writer.thread(1, thread as u32)?;
        program.threads.push(Thread::new());
    }
    for (stamp, (thread, action)) in (1..).zip(actions) {
        program.writer.stamp(ThreadId::from_index(*thread), stamp)?;
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
