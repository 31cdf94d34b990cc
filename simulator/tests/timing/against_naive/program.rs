//! Synthetic servers of a few threads and functions, as traces and as equivalent scripts.

use crate::timing::definitions;
use crate::timing::oracle::calls::{Seen, ends_of_calls};
use crate::timing::steps::{Step, perform, steps_of};
use corehop_simulator::branches::{Branch, Way};
use corehop_simulator::timing::Annotate;
use corehop_simulator::{CoreId, Split};
use corehop_traces::{Execution, FunctionId, Kind, Trace, WriterOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Number of functions. Each has one code block with one instruction.
pub const FUNCTIONS: u32 = 6;
/// Their offsets. Two are directly behind others.
const OFFSETS: [u64; FUNCTIONS as usize] = [0, 1, 128, 192, 196, 320];
/// Functions before this one have instructions of one byte.
const FIRST_LONG: u32 = 3;
const THREADS: u32 = 4;
const CODE: u64 = 0x10_000;

pub fn programs() -> impl Strategy<Value = Vec<Step>> {
    // A few addresses serve for pushing and loading return addresses, among other accesses.
    let address = prop_oneof![0u64..1200, 0u64..9000, (0u64..5).prop_map(|n| 4000 + n * 8)];
    let data = vec((address, any::<bool>()), 0..4);
    let step = steps_of(0..THREADS, 0.2, 0..FUNCTIONS, data);
    let steps = vec((step, prop::bool::weighted(0.3)), 1..80);
    let strides = prop::sample::select(&[-128i64, -64, 24, 64, 96, 128, 192][..]);
    (steps, vec(strides, FUNCTIONS as usize)).prop_map(|(steps, strides)| walk(steps, &strides))
}

/// Replaces the data of some steps by a load at a fixed stride from the last one of the code block.
fn walk(steps: Vec<(Step, bool)>, strides: &[i64]) -> Vec<Step> {
    let mut walked = vec![0; strides.len()];
    let step = |(step, walks): (Step, bool)| {
        let block = step.block as usize;
        if !walks {
            return step;
        }
        walked[block] += strides[block];
        let address = 4096 + i64::rem_euclid(walked[block] + 1024 * i64::from(step.block), 4096);
        Step {
            data: vec![(address as u64, false)],
            ..step
        }
    };
    steps.into_iter().map(step).collect()
}

/// Returns the address of the instruction of a function.
pub fn instruction_of(function: u32) -> u64 {
    CODE + OFFSETS[function as usize]
}

/// Returns the address of the byte behind it.
fn behind(function: u32) -> u64 {
    instruction_of(function) + if function < FIRST_LONG { 1 } else { 4 }
}

/// Writes the steps as a trace.
pub fn record(steps: &[Step]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.trace");
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", CODE).unwrap();
    for number in 0..FUNCTIONS {
        let function = (&*format!("f{number}"), OFFSETS[number as usize]);
        let at = (module, CODE);
        match number < FIRST_LONG {
            true => definitions::function_of(&mut writer, at, function, None, 1).unwrap(),
            false => definitions::function(&mut writer, at, function, None).unwrap(),
        };
    }
    let requests = steps.iter().filter(|step| step.begins_request).count() as u64;
    let numbers: Vec<u64> = (1..=requests).collect();
    perform(writer, &[1; THREADS as usize], steps, &numbers).unwrap();
    Trace::open(&path).unwrap()
}

/// Which functions move a thread, to which core, and which of them only for a call.
#[derive(Clone, Debug)]
pub struct Planned {
    /// A function may occur twice; the last entry counts.
    functions: Vec<(u32, u32, bool)>,
}

impl Planned {
    /// Creates a plan; cores are taken modulo `cores`.
    pub fn new(functions: Vec<(u32, u32, bool)>, cores: u32) -> Planned {
        let functions = functions.into_iter();
        Planned {
            functions: functions
                .map(|(f, core, call)| (f, core % cores, call))
                .collect(),
        }
    }

    pub fn split(&self) -> Split {
        let functions = self
            .functions
            .iter()
            .map(|&(f, core, _)| (FunctionId(f), CoreId(core)));
        let last = |&f: &u32| self.of(f).is_some_and(|(_, call)| call);
        Split::new(functions).delegating((0..FUNCTIONS).filter(last).map(FunctionId))
    }

    /// Returns the core of a function, and whether it is for a call only.
    pub fn of(&self, function: u32) -> Option<(u32, bool)> {
        let mut own = self.functions.iter().rev().filter(|(f, ..)| *f == function);
        own.next().map(|&(_, core, call)| (core, call))
    }

    /// Returns the number of cores it uses.
    pub fn cores(&self) -> u32 {
        let cores = self.functions.iter().map(|(_, core, _)| core + 1);
        cores.max().unwrap_or(1)
    }
}

/// The requests of a connection.
pub type Script = Vec<Vec<Action>>;

/// One execution.
#[derive(Clone, Debug)]
pub struct Action {
    /// Index among all steps.
    pub place: usize,
    pub function: u32,
    /// The step before which its enclosing call has ended.
    pub call_ends: Option<usize>,
    /// The number of instructions from [`MadeUp`].
    pub instructions: u32,
    /// Kind, line, and the load that the address comes from, as in [`MadeUp`].
    pub references: Vec<(Kind, u64, u8)>,
    /// Where the thread continues, and the load back that this depends on.
    pub branch: Option<(Branch, usize)>,
}

/// Generates different instruction counts and address sources for each execution, by its index.
#[derive(Default)]
pub struct MadeUp {
    place: usize,
}

impl Annotate for MadeUp {
    fn execution(&mut self, execution: &Execution<'_>, address_from: &mut Vec<u8>) -> u32 {
        let lines = execution
            .accesses
            .iter()
            .map(|access| access.lines().count());
        address_from.extend((0..lines.sum()).map(|line| back(self.place, line)));
        self.place += 1;
        instructions(self.place - 1)
    }
}

fn instructions(place: usize) -> u32 {
    (place * 7 % 13) as u32
}

/// Returns mostly zero or one of the last few loads.
fn back(place: usize, line: usize) -> u8 {
    match (place * 31 + line * 17) % 11 {
        few @ 0..5 => few as u8,
        5 => (place * 59) as u8,
        _ => 0,
    }
}

/// Returns the complete requests of each thread.
pub fn scripts(steps: &[Step]) -> Vec<Script> {
    let seen = |step: &Step| Seen {
        thread: step.thread,
        block: step.block,
        short: step.block < FIRST_LONG,
        behind: (0..FUNCTIONS).find(|&next| instruction_of(next) == behind(step.block)),
        last: step.data.last().copied(),
        after_gap: false,
    };
    let seen: Vec<Seen> = steps.iter().map(seen).collect();
    let ends = ends_of_calls(&seen);
    let of_thread = |thread: u32| {
        let mut script = Script::new();
        let after = |place: usize| {
            let mut later = steps[place + 1..].iter();
            later.find(|step| step.thread == thread)
        };
        for (place, step) in steps.iter().enumerate() {
            if step.thread != thread {
                continue;
            }
            if step.begins_request {
                script.push(Vec::new());
            }
            if let Some(request) = script.last_mut() {
                request.push(Action {
                    place,
                    function: step.block,
                    call_ends: ends[place],
                    instructions: instructions(place),
                    references: references(place, step),
                    branch: branch(step, after(place)),
                });
            }
        }
        // The end of the last request is unknown.
        script.pop();
        script
    };
    let scripts = (0..THREADS).map(of_thread);
    let mut scripts: Vec<Script> = scripts.filter(|script| !script.is_empty()).collect();
    let actions = |scripts: &[Script]| scripts.iter().flatten().flatten().cloned().collect();
    let all: Vec<Action> = actions(&scripts);
    for action in scripts.iter_mut().flatten().flatten() {
        if let Some((branch, _)) = &mut action.branch {
            branch.way = way(*branch, &all);
        }
    }
    scripts
}

/// Returns how a step continues at the next one of its thread; the way is known of returns only.
fn branch(step: &Step, next: Option<&Step>) -> Option<(Branch, usize)> {
    let next = next.filter(|next| next.block != step.block)?;
    let (target, behind) = (instruction_of(next.block), behind(step.block));
    let leaves = target != behind;
    let last = step.data.last().map(|&(_, store)| store);
    let returns = leaves && step.block < FIRST_LONG && last == Some(false);
    let branch = Branch {
        way: if returns { Way::Return } else { Way::Fixed },
        pc: instruction_of(step.block),
        behind,
        target,
        calls: leaves && last == Some(true),
    };
    let loads = step.data.iter().any(|&(_, store)| !store);
    Some((branch, usize::from(loads)))
}

/// Returns how a branch branches, by all places at which threads continue after it.
fn way(branch: Branch, all: &[Action]) -> Way {
    let branches = all.iter().filter_map(|action| action.branch);
    let same = branches.filter(|(other, _)| other.pc == branch.pc);
    let targets: BTreeSet<u64> = same.map(|(other, _)| other.target).collect();
    match branch.way {
        Way::Return => Way::Return,
        _ if targets.len() == 1 => Way::Fixed,
        _ if targets.len() == 2 && targets.contains(&branch.behind) => Way::Conditional,
        _ => Way::Indirect,
    }
}

fn references(place: usize, step: &Step) -> Vec<(Kind, u64, u8)> {
    let mut lines = vec![(Kind::Fetch, instruction_of(step.block) / 64)];
    for &(address, store) in &step.data {
        let kind = if store { Kind::Store } else { Kind::Load };
        lines.extend((address / 64..=(address + 7) / 64).map(|line| (kind, line)));
    }
    let with_back = |(at, (kind, line))| (kind, line, back(place, at));
    lines.into_iter().enumerate().map(with_back).collect()
}
