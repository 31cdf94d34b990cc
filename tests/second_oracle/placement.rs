//! On which core each execution runs: plans, and what docs/reference/replay.md says of entering and
//! going back.

use crate::code::{Code, Transfer};
use crate::exported::{Execution, Instruction};
use crate::objects::{ByObject, Objects, Told};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A function that a plan may name.
#[derive(Clone, Debug)]
pub struct Function {
    pub module: String,
    pub build_id: String,
    pub offset: u64,
    pub symbol: String,
    /// Where it was entered.
    pub address: u64,
}

/// Where entering it takes a thread.
#[derive(Clone, Copy, Debug)]
pub enum To {
    Core(usize),
    Object(ByObject),
}

#[derive(Clone, Debug)]
pub struct Planned {
    pub function: Function,
    pub to: To,
    /// Whether its mode is "call".
    pub goes_back: bool,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub cores: usize,
    pub functions: Vec<Planned>,
}

impl Plan {
    /// Writes the file that corehop reads.
    pub fn write_into(&self, folder: &Path) -> PathBuf {
        let cores = self.cores;
        let mut text =
            format!("version = 2\nmachine = \"any\"\ntrace = \"any\"\ncores = {cores}\nseed = 1\n");
        for planned in &self.functions {
            let function = &planned.function;
            let to = match planned.to {
                To::Core(core) => format!("core = {core}"),
                To::Object(by) => by.to_toml(),
            };
            write!(
                text,
                "[[function]]\nmodule = {:?}\nbuild_id = {:?}\noffset = {}\nsymbol = {:?}\n\
                 {to}\nmode = {:?}\n",
                function.module,
                function.build_id,
                function.offset,
                function.symbol,
                if planned.goes_back { "call" } else { "enter" },
            )
            .unwrap();
        }
        let path = folder.join("plan.toml");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Where threads run.
#[derive(Clone, Copy, Debug)]
pub enum Placement<'a> {
    Plan(&'a Plan),
    OneCore,
    /// Threads stay on so many cores in turn; in the trace's order, which is not that in which they
    /// first come.
    ThreadPerCore(usize, &'a [usize]),
}

/// Follows threads from core to core.
pub struct Walk<'a> {
    code: &'a Code,
    placement: Placement<'a>,
    by_address: HashMap<u64, &'a Planned>,
    threads: Vec<Thread>,
    pub objects: Objects<'a>,
    /// Times that a thread moved to another core.
    pub hops: u64,
}

struct Thread {
    core: usize,
    /// What it did last.
    before: Option<Instruction>,
    /// Its calls that have not returned, outermost first. The first one stands for what was open
    /// when the recording began: its return address is nowhere.
    open: Vec<Call>,
}

#[derive(Default)]
struct Call {
    /// Where the return address lies.
    slot: Option<u64>,
    /// The core to go back to when it returns, if a planned function was entered in it.
    back_to: Option<usize>,
}

impl<'a> Walk<'a> {
    pub fn new(code: &'a Code, placement: Placement<'a>, told: &'a Told) -> Walk<'a> {
        let (functions, cores) = match placement {
            Placement::Plan(plan) => (plan.functions.as_slice(), plan.cores),
            _ => (&[][..], 1),
        };
        Walk {
            code,
            placement,
            by_address: functions.iter().map(|p| (p.function.address, p)).collect(),
            threads: Vec::new(),
            objects: Objects::new(told, cores),
            hops: 0,
        }
    }

    /// The core on which an execution runs; ask of each in turn.
    pub fn core_of(&mut self, execution: &Execution) -> usize {
        while self.threads.len() <= execution.thread {
            let number = self.threads.len();
            self.threads.push(Thread {
                core: match self.placement {
                    Placement::ThreadPerCore(cores, numbers) => numbers[number] % cores,
                    _ => 0,
                },
                before: None,
                open: vec![Call::default()],
            });
        }
        let thread = &mut self.threads[execution.thread];
        let was_on = thread.core;
        let before = thread.before.replace(execution.end);
        match before.and_then(|before| self.code.transfer(&before, execution.start)) {
            Some(Transfer::Call(slot)) => thread.call(slot),
            Some(Transfer::Return(slot)) => thread.come_back(slot),
            None => {}
        }
        if let Some(planned) = self.by_address.get(&execution.start) {
            let core = match planned.to {
                To::Core(core) => Some(core),
                To::Object(by) => {
                    let symbol = &planned.function.symbol;
                    self.objects.core_of(execution.thread, symbol, by)
                }
            };
            thread.enter(planned, core);
        }
        self.hops += u64::from(thread.core != was_on);
        thread.core
    }
}

impl Thread {
    fn enter(&mut self, planned: &Planned, core: Option<usize>) {
        if planned.goes_back {
            let call = self.open.last_mut().unwrap();
            call.back_to.get_or_insert(self.core);
        }
        self.core = core.unwrap_or(self.core);
    }

    fn call(&mut self, slot: u64) {
        // What had its return address here, or further down the stack, was left by an exception.
        while self.innermost().is_some_and(|open| open <= slot) {
            self.end_innermost();
        }
        self.open.push(Call {
            slot: Some(slot),
            back_to: None,
        });
    }

    fn come_back(&mut self, slot: u64) {
        while self.innermost().is_some_and(|open| open < slot) {
            self.end_innermost();
        }
        match self.innermost() {
            Some(open) if open == slot => self.end_innermost(),
            // Something else than a return, as it is used to jump.
            Some(_) => {}
            // It ends the call that was open when the recording began, and is back in the one
            // that was open around it.
            None => {
                self.end_innermost();
                self.open.push(Call::default());
            }
        }
    }

    fn innermost(&self) -> Option<u64> {
        self.open.last().unwrap().slot
    }

    fn end_innermost(&mut self) {
        let ended = self.open.pop().unwrap();
        self.core = ended.back_to.unwrap_or(self.core);
    }
}
