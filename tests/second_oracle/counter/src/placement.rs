//! The core of each execution: plans, and the rules of docs/reference/replay.md for entering and
//! migrating back.

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
    /// The address of its entry.
    pub address: u64,
}

impl Function {
    fn to_toml(&self) -> String {
        let Function {
            module,
            build_id,
            offset,
            symbol,
            ..
        } = self;
        format!(
            "module = {module:?}\nbuild_id = {build_id:?}\noffset = {offset}\n\
             symbol = {symbol:?}\n"
        )
    }
}

/// Where a thread migrates when it enters the function.
#[derive(Clone, Copy, Debug)]
pub enum To {
    Core(usize),
    Object(ByObject),
    /// A core at one call of each request; a plan may list several calls of a function.
    AtCall {
        core: usize,
        call: u32,
    },
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
    /// The function that each request enters, if the plan names it.
    pub request: Option<Function>,
    pub functions: Vec<Planned>,
}

impl Plan {
    /// Writes the plan file for corehop.
    pub fn write_into(&self, folder: &Path) -> PathBuf {
        let cores = self.cores;
        let mut text =
            format!("version = 2\nmachine = \"any\"\ntrace = \"any\"\ncores = {cores}\nseed = 1\n");
        if let Some(request) = &self.request {
            write!(text, "[request]\n{}", request.to_toml()).unwrap();
        }
        for planned in &self.functions {
            let function = planned.function.to_toml();
            let to = match planned.to {
                To::Core(core) => format!("core = {core}"),
                To::Object(by) => by.to_toml(),
                To::AtCall { core, call } => format!("core = {core}\ncall = {call}"),
            };
            let mode = if planned.goes_back { "call" } else { "enter" };
            write!(text, "[[function]]\n{function}{to}\nmode = {mode:?}\n").unwrap();
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
    /// Threads stay on this number of cores, assigned round-robin by their numbers in the trace.
    /// The slice has these numbers, in the order of first executions.
    ThreadPerCore(usize, &'a [usize]),
}

/// Follows threads from core to core.
pub struct Walk<'a> {
    code: &'a Code,
    placement: Placement<'a>,
    by_address: HashMap<u64, Vec<&'a Planned>>,
    /// The address of the function that each request enters.
    request: Option<u64>,
    threads: Vec<Thread>,
    pub objects: Objects<'a>,
    /// Number of migrations to another core.
    pub hops: u64,
}

struct Thread {
    core: usize,
    /// Its last instruction.
    before: Option<Instruction>,
    /// Its calls that have not returned, outermost first. The first one stands for calls that were
    /// open when the recording began: its return address is unknown.
    open: Vec<Call>,
    /// After the begin of a request: by address, how often this request has entered functions.
    calls: Option<HashMap<u64, u32>>,
}

#[derive(Default)]
struct Call {
    /// The address of the return address.
    slot: Option<u64>,
    /// The core to migrate back to at its return, if a planned function was entered in it.
    back_to: Option<usize>,
}

impl<'a> Walk<'a> {
    pub fn new(code: &'a Code, placement: Placement<'a>, told: &'a Told) -> Walk<'a> {
        let (functions, cores, request) = match placement {
            Placement::Plan(plan) => (&plan.functions[..], plan.cores, plan.request.as_ref()),
            _ => (&[][..], 1, None),
        };
        let mut by_address: HashMap<u64, Vec<&Planned>> = HashMap::new();
        for planned in functions {
            let entries = by_address.entry(planned.function.address).or_default();
            entries.push(planned);
        }
        Walk {
            code,
            placement,
            by_address,
            request: request.map(|request| request.address),
            threads: Vec::new(),
            objects: Objects::new(told, cores),
            hops: 0,
        }
    }

    /// Returns the core of an execution; must be called for each execution in order.
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
                calls: None,
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
        if self.request == Some(execution.start) {
            thread.calls = Some(HashMap::new());
        }
        if let Some(entries) = self.by_address.get(&execution.start) {
            let number = thread.number_of_call(execution.start);
            let core = entries.iter().find_map(|planned| match planned.to {
                To::AtCall { core, call } => (number == Some(call)).then_some(core),
                To::Core(core) => Some(core),
                To::Object(by) => {
                    let symbol = &planned.function.symbol;
                    self.objects.core_of(execution.thread, symbol, by)
                }
            });
            // All entries of one function have the same mode.
            thread.enter(entries[0], core);
        }
        self.hops += u64::from(thread.core != was_on);
        thread.core
    }
}

impl Thread {
    /// Returns the number of this call in its request, from 1; `None` before the first request.
    fn number_of_call(&mut self, address: u64) -> Option<u32> {
        let number = self.calls.as_mut()?.entry(address).or_default();
        *number += 1;
        Some(*number)
    }

    fn enter(&mut self, planned: &Planned, core: Option<usize>) {
        if planned.goes_back {
            let call = self.open.last_mut().unwrap();
            call.back_to.get_or_insert(self.core);
        }
        self.core = core.unwrap_or(self.core);
    }

    fn call(&mut self, slot: u64) {
        // Calls with a return address here, or further down the stack, were left by an exception.
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
            // Not a return, but a jump by a return instruction.
            Some(_) => {}
            // Ends the call that was open when the recording began, and continues in its caller.
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
