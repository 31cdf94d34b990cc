//! Function arguments, as far as they can be derived from a trace.
//!
//! A trace does not contain register values. A function with a pointer argument soon accesses
//! memory through it, though. Code blocks record which register an access uses, at which distance,
//! and which registers they copy ([`Pointer`]). So each call is followed for its first executions.
//! A register may still contain an argument, or a value at a known distance from it. If memory is
//! accessed through it, the address minus the distances is the argument. Callees are followed too,
//! because they use the same registers. The result is exact or unknown: an argument that is first
//! moved through memory, used in a computation, or not used to access memory, is unknown.
//!
//! A call is no longer followed when a signal handler begins or the thread's request ends, because
//! unrecorded executions may follow.

use crate::model::dependence::GENERAL_REGISTERS;
use crate::model::error::Error;
use crate::model::execution::{Execution, Kind};
use crate::model::ids::{FunctionId, RequestId, ThreadId};
use crate::model::pointer::Pointer;
use crate::model::program::CodeBlock;
use crate::read::trace::Trace;
use std::collections::VecDeque;

/// Number of arguments that are passed in general registers.
pub const ARGUMENTS: usize = 6;

/// The argument registers in order, as x86-64 numbers them: rdi, rsi, rdx, rcx, r8, r9 (System V
/// ABI, section 3.2.3).
const REGISTERS: [usize; ARGUMENTS] = [7, 6, 2, 1, 8, 9];

/// Number of executions for which a call is followed.
const FOLLOWED: u32 = 64;

/// A call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnteredCall {
    /// Its position among all requested calls, in trace order.
    pub order: u64,
    /// The function.
    pub function: FunctionId,
    /// The calling thread.
    pub thread: ThreadId,
    /// Number of the thread's execution that entered it.
    pub number: u64,
    /// The request that the thread was serving.
    pub request: Option<RequestId>,
    /// Its arguments, as far as they are known; addresses are those that the process used.
    pub arguments: [Option<u64>; ARGUMENTS],
}

/// Follows the calls of some functions.
pub struct Arguments<'t> {
    trace: &'t Trace,
    /// By index: whether the calls of a function are followed.
    functions: Vec<bool>,
    threads: Vec<Thread>,
    next_order: u64,
}

#[derive(Clone, Default)]
struct Thread {
    request: Option<RequestId>,
    /// In the order of their entries; completed ones are removed from the front.
    calls: VecDeque<Followed>,
}

#[derive(Clone)]
struct Followed {
    call: EnteredCall,
    /// By register: the argument that it is derived from, and the distance.
    holds: [Option<(u8, i64)>; GENERAL_REGISTERS],
    left: u32,
}

impl<'t> Arguments<'t> {
    /// Creates a follower of the calls of the functions that are set in `functions`, by index.
    pub fn new(trace: &'t Trace, functions: Vec<bool>) -> Arguments<'t> {
        Arguments {
            trace,
            functions,
            threads: vec![Thread::default(); trace.threads().len()],
            next_order: 0,
        }
    }

    /// Returns all calls of these functions in a trace, in trace order.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the trace contradicts itself.
    pub fn of(trace: &'t Trace, functions: Vec<bool>) -> Result<Vec<EnteredCall>, Error> {
        let mut calls = Vec::new();
        let mut arguments = Arguments::new(trace, functions);
        let mut executions = trace.executions().with_virtual_addresses();
        while let Some(execution) = executions.next()? {
            arguments.execution(&execution, |call| calls.push(call));
        }
        arguments.finish(|call| calls.push(call));
        calls.sort_unstable_by_key(|call| call.order);
        Ok(calls)
    }

    /// Processes the next execution of the trace, with virtual addresses. Passes completed calls to
    /// `tell`: each thread's calls in order.
    pub fn execution(&mut self, execution: &Execution<'_>, mut tell: impl FnMut(EnteredCall)) {
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        let thread = &mut self.threads[execution.thread.index()];
        let is_handler = self.trace.contents.signal_handlers.contains(&block.start);
        if is_handler || thread.request != execution.request {
            thread.request = execution.request;
            thread.give_up(&mut tell);
        }
        if let Some(function) = execution.entry
            && self.functions.get(function.index()) == Some(&true)
        {
            let call = EnteredCall {
                order: self.next_order,
                function,
                thread: execution.thread,
                number: execution.number,
                request: execution.request,
                arguments: [None; ARGUMENTS],
            };
            self.next_order += 1;
            thread.calls.push_back(Followed::new(call));
        }
        for followed in &mut thread.calls {
            if followed.left > 0 {
                followed.execution(execution, block);
            }
        }
        while thread.calls.front().is_some_and(|call| call.left == 0) {
            thread
                .calls
                .pop_front()
                .into_iter()
                .for_each(|followed| tell(followed.call));
        }
    }

    /// Passes all calls that are still followed to `tell`.
    pub fn finish(mut self, mut tell: impl FnMut(EnteredCall)) {
        for thread in &mut self.threads {
            thread.give_up(&mut tell);
        }
    }
}

impl Thread {
    fn give_up(&mut self, tell: &mut impl FnMut(EnteredCall)) {
        self.calls
            .drain(..)
            .for_each(|followed| tell(followed.call));
    }
}

impl Followed {
    fn new(call: EnteredCall) -> Followed {
        let mut holds = [None; GENERAL_REGISTERS];
        for (argument, register) in (0..).zip(REGISTERS) {
            holds[register] = Some((argument, 0));
        }
        Followed {
            call,
            holds,
            left: FOLLOWED,
        }
    }

    fn execution(&mut self, execution: &Execution<'_>, block: &CodeBlock) {
        let before = self.holds;
        for &pointer in &block.pointers {
            match pointer {
                Pointer::Accessed {
                    instruction,
                    register,
                    distance,
                } => {
                    if let Some((argument, further)) = before[usize::from(register)]
                        && let value = &mut self.call.arguments[usize::from(argument)]
                        && value.is_none()
                    {
                        let address = address_of(execution, block, instruction);
                        let less = distance.wrapping_add(further).cast_unsigned();
                        *value = address.map(|address| address.wrapping_sub(less));
                    }
                }
                Pointer::Held {
                    at_end,
                    register,
                    distance,
                } => {
                    let held = before[usize::from(register)];
                    let moved = held.map(|(argument, by)| (argument, by.wrapping_add(distance)));
                    self.holds[usize::from(at_end)] = moved;
                }
                Pointer::Lost { at_end } => self.holds[usize::from(at_end)] = None,
            }
        }
        let is_wanted =
            |&(argument, _): &(u8, i64)| self.call.arguments[usize::from(argument)].is_none();
        let goes_on = self.holds.iter().flatten().any(is_wanted);
        self.left = if goes_on { self.left - 1 } else { 0 };
    }
}

/// Returns the address of the first data access of the instruction with this index.
fn address_of(execution: &Execution<'_>, block: &CodeBlock, instruction: u16) -> Option<u64> {
    let offset = block.instructions[usize::from(instruction)].offset;
    let pc = block.start.wrapping_add(u64::from(offset));
    let mut accesses = execution.accesses.iter();
    let access = accesses.find(|access| access.pc == pc && access.kind != Kind::Fetch)?;
    Some(access.address)
}
