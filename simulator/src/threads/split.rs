//! Which function entries of a trace move a thread, to which core, and for how long.
//!
//! A plan identifies functions by build id and offset, a trace by index. They are matched once,
//! before a replay. The match fails if a function is missing: counts for half a plan would be
//! misleading.

mod by_call;

use crate::error::Error;
use crate::ids::CoreId;
use crate::objects::Objects;
use crate::threads::kth_calls::KthCalls;
use corehop_plan::{Destination, KthCall, Mode, Plan, PlannedFunction};
use corehop_traces::{Function, FunctionId, Module, ThreadId, Trace};
use std::sync::Arc;

/// A split of a traced program over cores; the default leaves everything on core 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// For each function of the trace, its target; functions beyond the end move nothing.
    targets: Vec<Option<Target>>,
    /// Functions whose threads return when a call ends; ascending, without duplicates.
    delegated: Vec<FunctionId>,
    cores: u32,
    /// Start core of these threads, indexed by thread.
    starts: Vec<CoreId>,
    /// The other threads start round-robin on this many cores; 1 means core 0.
    start_cores: u32,
    /// Destinations of calls of functions that select their core by an argument, if any.
    objects: Option<Arc<Objects>>,
    /// Calls that move a thread, for functions that do so only at some calls of a request, if any.
    kth_calls: Option<Arc<KthCalls>>,
}

/// The destination of a function's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Core(CoreId),
    /// The core of the object of the call.
    Object,
    /// A core for selected calls of a request.
    KthCall,
}

impl Default for Split {
    fn default() -> Self {
        Split::new([])
    }
}

impl Split {
    /// Creates the split of these functions, each with the core that its entry moves a thread to.
    /// It uses the cores up to the highest one.
    pub fn new(functions: impl IntoIterator<Item = (FunctionId, CoreId)>) -> Self {
        let mut split = Split {
            targets: Vec::new(),
            delegated: Vec::new(),
            cores: 1,
            starts: Vec::new(),
            start_cores: 1,
            objects: None,
            kth_calls: None,
        };
        for (function, core) in functions {
            split.cores = split.cores.max(core.0 + 1);
            split.place(function, Target::Core(core));
        }
        split
    }

    /// Places threads round-robin on `cores` cores, as a server's scheduler would: the thread with
    /// index `t` stays on core `t` modulo `cores`. Zero cores count as one.
    pub fn thread_per_core(cores: u32) -> Self {
        let cores = cores.max(1);
        Split {
            cores,
            start_cores: cores,
            ..Split::default()
        }
    }

    /// Places these threads round-robin on `cores` cores, in this order, and all others on core 0.
    /// No thread moves. Zero cores count as one.
    pub fn threads_in_turn(threads: &[ThreadId], cores: u32) -> Self {
        let cores = cores.max(1);
        let last = threads.iter().max().map_or(0, |thread| thread.index() + 1);
        let mut starts = vec![CoreId(0); last];
        for (&thread, core) in threads.iter().zip((0..cores).map(CoreId).cycle()) {
            starts[thread.index()] = core;
        }
        Split {
            cores,
            starts,
            ..Split::default()
        }
    }

    /// Assigns each thread to a core of the caller's choice, by thread. Threads beyond the list
    /// start on core 0, and no thread migrates.
    pub fn threads_on(starts: Vec<CoreId>) -> Self {
        let last = starts.iter().map(|core| core.0).max().unwrap_or(0);
        Split {
            cores: last + 1,
            starts,
            ..Split::default()
        }
    }

    /// Returns the same split, with threads returning to their previous core when a call of these
    /// of its functions ends; when calls of other functions end, they stay.
    #[must_use]
    pub fn delegating(mut self, functions: impl IntoIterator<Item = FunctionId>) -> Self {
        let functions = functions.into_iter();
        self.delegated = functions.filter(|&f| self.moves(f)).collect();
        self.delegated.sort_unstable();
        self.delegated.dedup();
        self
    }

    fn place(&mut self, function: FunctionId, target: Target) {
        let index = function.index();
        if self.targets.len() <= index {
            self.targets.resize(index + 1, None);
        }
        self.targets[index] = Some(target);
    }

    /// Creates the split that `plan` defines for `trace`. It uses all the plan's cores.
    ///
    /// # Errors
    /// [`Error::OtherBuild`] or [`Error::NotInTrace`] for a function that is not in the trace;
    /// those of [`Split::by_argument`] for a plan with functions that select their core by an
    /// argument.
    pub fn of_plan(plan: &Plan, trace: &Trace) -> Result<Self, Error> {
        let (modules, functions) = (trace.modules(), trace.functions());
        let is_fixed = |planned: &&PlannedFunction| planned.to.core().is_some();
        let fixed = plan.functions.iter().filter(is_fixed).cloned();
        let fixed = Plan {
            functions: fixed.collect(),
            ..plan.clone()
        };
        let split = Split::from_plan(&fixed, modules, functions)?;
        let (mut by_argument, mut at_calls) = (Vec::new(), Vec::new());
        for planned in &plan.functions {
            let mode = planned.mode;
            for function in found(planned, modules, functions)? {
                match planned.to {
                    Destination::Core(_) => {}
                    Destination::By(by) => by_argument.push((function, by, mode)),
                    Destination::At(call) => at_calls.push((function, call, mode)),
                }
            }
        }
        let split = match at_calls.is_empty() {
            true => split,
            false => split.at_calls(trace, &at_calls)?,
        };
        match by_argument.is_empty() {
            true => Ok(split),
            false => split.by_argument(trace, &by_argument, plan.cores),
        }
    }

    /// Creates the split that `plan` defines for a trace with these modules and functions. It uses
    /// all the plan's cores.
    ///
    /// # Errors
    /// [`Error::NotByFunction`] for a function without one core for all its calls;
    /// [`Error::OtherBuild`] or [`Error::NotInTrace`] for one that is not in the trace.
    pub fn from_plan(
        plan: &Plan,
        modules: &[Module],
        functions: &[Function],
    ) -> Result<Self, Error> {
        let mut split = Split {
            targets: vec![None; functions.len()],
            delegated: Vec::new(),
            cores: plan.cores,
            starts: Vec::new(),
            start_cores: 1,
            objects: None,
            kth_calls: None,
        };
        let mut delegated = Vec::new();
        for planned in &plan.functions {
            let core = match planned.to {
                Destination::Core(core) => core,
                Destination::By(_) | Destination::At(_) => return Err(not_by_function(planned)),
            };
            for function in found(planned, modules, functions)? {
                split.place(function, Target::Core(CoreId(core)));
                if planned.mode == Mode::Call {
                    delegated.push(function);
                }
            }
        }
        Ok(split.delegating(delegated))
    }

    /// Returns the functions whose entries move threads, by ascending index.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        let indexed = (0..).map(FunctionId).zip(&self.targets);
        indexed.filter_map(|(function, target)| target.map(|_| function))
    }

    /// Returns whether entering `function` may move a thread.
    #[inline]
    pub fn moves(&self, function: FunctionId) -> bool {
        self.targets
            .get(function.index())
            .is_some_and(Option::is_some)
    }

    /// Returns the core that entering `function` moves a thread to; `None` if it depends on the
    /// call.
    #[inline]
    pub fn core_of(&self, function: FunctionId) -> Option<CoreId> {
        match self.targets.get(function.index())? {
            Some(Target::Core(core)) => Some(*core),
            _ => None,
        }
    }

    /// Returns the core that entering `function` with execution `number` moves the thread to;
    /// `None` if it stays.
    #[inline]
    pub fn core_of_entry(
        &self,
        function: FunctionId,
        thread: ThreadId,
        number: u64,
    ) -> Option<CoreId> {
        match (*self.targets.get(function.index())?)? {
            Target::Core(core) => Some(core),
            Target::Object => self.objects.as_ref()?.home(thread, number),
            Target::KthCall => self.kth_calls.as_ref()?.home(thread, number),
        }
    }

    /// Returns whether every function has one core for all its calls.
    pub fn is_by_function(&self) -> bool {
        self.objects.is_none() && self.kth_calls.is_none()
    }

    /// Returns the functions that move a thread only at selected calls of each request, with each
    /// of these calls.
    pub fn kth_calls(&self) -> &[(FunctionId, KthCall)] {
        let calls = self.kth_calls.as_deref();
        calls.map_or(&[], KthCalls::functions)
    }

    /// Returns the destinations of calls of functions that select their core by an argument, if
    /// any.
    pub fn objects(&self) -> Option<&Objects> {
        self.objects.as_deref()
    }

    /// Returns the functions whose threads return when a call ends, by ascending index.
    pub fn delegated(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.delegated.iter().copied()
    }

    /// Returns whether a thread returns to its previous core when a call of `function` ends.
    #[inline]
    pub fn delegates(&self, function: FunctionId) -> bool {
        self.delegated.binary_search(&function).is_ok()
    }

    /// Returns the core that `thread` starts on.
    pub fn start_core(&self, thread: ThreadId) -> CoreId {
        let named = self.starts.get(thread.index()).copied();
        named.unwrap_or(CoreId(thread.0 % self.start_cores))
    }

    /// Returns the number of cores used, at least 1.
    pub fn cores(&self) -> u32 {
        self.cores
    }
}

/// Finds the functions of a trace that match a planned one: several if its file is mapped more than
/// once.
fn found(
    planned: &PlannedFunction,
    modules: &[Module],
    functions: &[Function],
) -> Result<impl Iterator<Item = FunctionId>, Error> {
    let is_it = |function: &Function| {
        let module = &modules[function.module as usize];
        function.offset == planned.offset && is_of_build(module, planned)
    };
    let indexed = (0..).map(FunctionId).zip(functions);
    let found = indexed.filter(|(_, function)| is_it(function));
    let found: Vec<FunctionId> = found.map(|(index, _)| index).collect();
    match found.is_empty() {
        true => Err(unknown(planned, modules)),
        false => Ok(found.into_iter()),
    }
}

fn is_of_build(module: &Module, planned: &PlannedFunction) -> bool {
    module.build_id.eq_ignore_ascii_case(&planned.build_id)
}

fn not_by_function(planned: &PlannedFunction) -> Error {
    Error::NotByFunction {
        symbol: planned.symbol.clone(),
        module: planned.module.clone(),
        to: planned.to,
    }
}

fn unknown(planned: &PlannedFunction, modules: &[Module]) -> Error {
    let (symbol, module) = (planned.symbol.clone(), planned.module.clone());
    if modules.iter().any(|module| is_of_build(module, planned)) {
        return Error::NotInTrace {
            symbol,
            module,
            offset: planned.offset,
        };
    }
    let recorded = modules.iter().find(|recorded| recorded.path == module);
    Error::OtherBuild {
        symbol,
        module,
        planned: planned.build_id.clone(),
        recorded: match recorded {
            Some(recorded) => format!("holds build '{}' of it", recorded.build_id),
            None => "does not hold that file".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_can_have_a_core_of_the_callers_choice() {
        let split = Split::threads_on([2, 0, 5].map(CoreId).to_vec());
        let cores = [0, 1, 2, 3].map(|thread| split.start_core(ThreadId(thread)));
        assert_eq!((cores, split.cores()), ([2, 0, 5, 0].map(CoreId), 6));
        assert_eq!(Split::threads_on(Vec::new()).cores(), 1);
    }

    #[test]
    fn named_threads_take_cores_in_turn_and_others_stay_on_the_first() {
        let split = Split::threads_in_turn(&[7, 2, 4].map(ThreadId), 2);
        let cores = [7, 2, 4, 0, 3, 9].map(|thread| split.start_core(ThreadId(thread)));
        assert_eq!(cores, [0, 1, 0, 0, 0, 0].map(CoreId));
        assert_eq!(split.cores(), 2);
        assert_eq!(
            Split::threads_in_turn(&[], 0).start_core(ThreadId(5)),
            CoreId(0)
        );
    }
}
