//! The pre-aggregated profile of BOLT (`llvm-bolt -pa`): taken branches and fall-throughs of one
//! module.
//!
//! `B FROM TO COUNT 0` are taken branches between the addresses of two instructions, and
//! `F FROM TO COUNT` are stretches without a taken branch, from the target of one to the next one;
//! `f` if the stretch follows a return, whose target need not begin a basic block. (LLVM 19,
//! bolt/include/bolt/Profile/DataAggregator.h.) Addresses are hexadecimal offsets from the module's
//! load bias, and `X:0` is any address outside of it. The last count is of mispredictions, which a
//! trace does not contain.
//!
//! A trace has no opcodes. A thread that goes on anywhere but behind its last instruction has taken
//! a branch: a jump, call, or return, rarely an interruption or a repeated instruction. BOLT
//! disassembles the file, and ignores the latter. A call is a branch that stores a word, and a
//! return is one that loads a word and leads behind a call. Requests that were not recorded leave
//! gaps, over which nothing is counted.

use crate::{Access, Execution, Kind, Module, RequestId, ThreadId, Trace};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

/// Bytes of a return address.
const WORD: u16 = 8;

/// What a thread executed since its last taken branch.
#[derive(Clone, Copy)]
struct Stretch {
    request: Option<RequestId>,
    /// The thread's executions up to here.
    executions: u64,
    /// The target of the last branch.
    start: u64,
    /// Whether that was a return.
    is_returned_to: bool,
    /// The last instruction.
    last: u64,
    /// Address behind it.
    behind: u64,
    /// Whether it stored a word.
    pushes: bool,
    /// Whether it loaded a word, and accessed nothing else.
    pops: bool,
}

/// The branches and fall-throughs of a trace.
pub struct Profile<'a> {
    trace: &'a Trace,
    /// Whether some requests between others were not recorded.
    has_gaps: bool,
    stretches: HashMap<ThreadId, Stretch>,
    /// By source and target.
    branches: HashMap<[u64; 2], u64>,
    /// By first and last instruction, and whether the first was returned to.
    fall_throughs: HashMap<([u64; 2], bool), u64>,
    /// Addresses behind calls.
    behind_calls: HashSet<u64>,
    /// By code block.
    executions: Vec<u64>,
}

impl<'a> Profile<'a> {
    /// Begins without counts.
    pub fn new(trace: &'a Trace) -> Profile<'a> {
        let mut pairs = trace.requests().windows(2);
        Profile {
            trace,
            has_gaps: pairs.any(|pair| !is_next(pair[0].number, pair[1].number)),
            stretches: HashMap::new(),
            branches: HashMap::new(),
            fall_throughs: HashMap::new(),
            behind_calls: HashSet::new(),
            executions: vec![0; trace.code_blocks().len()],
        }
    }

    /// Counts the next execution.
    pub fn execution(&mut self, execution: &Execution<'_>) {
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        let Some(instruction) = block.instructions.last() else {
            return;
        };
        self.executions[execution.code_block as usize] += 1;
        let last = block.start.wrapping_add(instruction.offset.into());
        let behind = last.wrapping_add(instruction.size_bytes.into());
        let before = self.stretches.get(&execution.thread).copied();
        let before = before.filter(|before| self.continues(before, execution));
        let (start, is_returned_to) = match before {
            Some(before) if before.behind == block.start => (before.start, before.is_returned_to),
            Some(before) => (block.start, self.take(&before, block.start)),
            None => (block.start, false),
        };
        let data = execution.accesses.iter().rev();
        let mut data = data.take_while(|of| of.pc == last && of.kind != Kind::Fetch);
        let is_word = |kind| move |of: &Access| of.kind == kind && of.size_bytes == WORD;
        let stretch = Stretch {
            request: execution.request,
            executions: execution.number + 1,
            start,
            is_returned_to,
            last,
            behind,
            pushes: data.clone().any(is_word(Kind::Store)),
            pops: data.clone().count() == 1 && data.any(is_word(Kind::Load)),
        };
        self.stretches.insert(execution.thread, stretch);
    }

    /// Counts a branch at the end of a stretch. Returns whether it is a return.
    fn take(&mut self, before: &Stretch, target: u64) -> bool {
        let ended = ([before.start, before.last], before.is_returned_to);
        *self.fall_throughs.entry(ended).or_default() += 1;
        *self.branches.entry([before.last, target]).or_default() += 1;
        if before.pushes {
            self.behind_calls.insert(before.behind);
        }
        before.pops && self.behind_calls.contains(&target)
    }

    /// Whether an execution follows what its thread did before, without a gap.
    fn continues(&self, before: &Stretch, execution: &Execution<'_>) -> bool {
        let number = |request: Option<RequestId>| {
            request.and_then(|request| self.trace.requests()[request.index()].number)
        };
        let is_recorded = || {
            before.request == execution.request
                || is_next(number(before.request), number(execution.request))
        };
        before.executions == execution.number && (!self.has_gaps || is_recorded())
    }

    /// Returns the module that executed the most instructions.
    #[must_use]
    pub fn busiest(&self) -> Option<&'a Module> {
        let modules = self.trace.modules();
        let mut instructions = vec![0; modules.len()];
        for (block, executions) in self.trace.code_blocks().iter().zip(&self.executions) {
            if let Some(module) = modules.iter().position(|of| of.holds(block.start)) {
                instructions[module] += executions * block.instructions.len() as u64;
            }
        }
        // Of several, the first one.
        let all = modules.iter().zip(instructions).rev();
        let used = all.filter(|&(_, instructions)| instructions > 0);
        used.max_by_key(|&(_, instructions)| instructions)
            .map(|(module, _)| module)
    }

    /// Writes the profile of a module. Returns how often branches were taken in it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, module: &Module, out: &mut impl Write) -> io::Result<u64> {
        let offset = |address: u64| {
            let is_inside = module.holds(address);
            is_inside.then(|| address.wrapping_sub(module.load_bias))
        };
        let mut branches = BTreeMap::<[Option<u64>; 2], u64>::new();
        for (between, count) in &self.branches {
            let between = between.map(offset);
            if between != [None; 2] {
                *branches.entry(between).or_default() += count;
            }
        }
        let place = |offset: Option<u64>| match offset {
            Some(offset) => format!("{offset:x}"),
            None => "X:0".to_owned(),
        };
        for (between, count) in &branches {
            let [from, to] = between.map(place);
            writeln!(out, "B {from} {to} {count} 0")?;
        }
        let inside = self.fall_throughs.iter().filter_map(|(stretch, count)| {
            let (between, is_returned_to) = stretch;
            let [from, to] = between.map(offset);
            Some(((from?, to?, is_returned_to), count))
        });
        for ((from, to, is_returned_to), count) in inside.collect::<BTreeMap<_, _>>() {
            let kind = if *is_returned_to { 'f' } else { 'F' };
            writeln!(out, "{kind} {from:x} {to:x} {count}")?;
        }
        Ok(branches.values().sum())
    }
}

/// Whether a request directly follows another; requests without numbers are all recorded.
fn is_next(before: Option<u64>, now: Option<u64>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => now == before + 1,
        _ => true,
    }
}
