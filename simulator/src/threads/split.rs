//! Which function entries of a trace move a thread, to which core, and for how long.
//!
//! A plan names functions by build id and offset, a trace by index. The match is made once, before
//! a replay, and fails rather than leave out a function: counts for half a plan would mislead.

use crate::error::Error;
use crate::ids::CoreId;
use corehop_plans::{Argument, Destination, Mode, Plan, PlannedFunction};
use corehop_traces::{Function, FunctionId, Module, ThreadId};

/// A split of a traced program over cores; the default one leaves everything on core 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// By function of the trace; functions beyond its end move nothing.
    cores_of_functions: Vec<Option<CoreId>>,
    /// Functions at the end of whose calls a thread goes back; ascending, each once.
    delegated: Vec<FunctionId>,
    cores: u32,
    /// Cores that these threads start on, by thread.
    starts: Vec<CoreId>,
    /// The others start on these many cores in turn, on core 0 if it is 1.
    start_cores: u32,
}

impl Default for Split {
    fn default() -> Self {
        Split::new([])
    }
}

impl Split {
    /// The split of these functions, each with the core that entering it moves a thread to. It
    /// uses the cores up to the highest named.
    pub fn new(functions: impl IntoIterator<Item = (FunctionId, CoreId)>) -> Self {
        let mut split = Split {
            cores_of_functions: Vec::new(),
            delegated: Vec::new(),
            cores: 1,
            starts: Vec::new(),
            start_cores: 1,
        };
        for (function, core) in functions {
            split.cores = split.cores.max(core.0 + 1);
            split.place(function, core);
        }
        split
    }

    /// Threads on `cores` cores in turn, as a server's scheduler would place them: the thread with
    /// index `t` stays on core `t` modulo `cores`. Zero cores count as one.
    pub fn thread_per_core(cores: u32) -> Self {
        let cores = cores.max(1);
        Split {
            cores_of_functions: Vec::new(),
            delegated: Vec::new(),
            cores,
            starts: Vec::new(),
            start_cores: cores,
        }
    }

    /// These threads on `cores` cores in turn, in the order in which they are named; all others on
    /// core 0. Nobody moves. Zero cores count as one.
    pub fn threads_in_turn(threads: &[ThreadId], cores: u32) -> Self {
        let cores = cores.max(1);
        let last = threads.iter().max().map_or(0, |thread| thread.index() + 1);
        let mut starts = vec![CoreId(0); last];
        for (&thread, core) in threads.iter().zip((0..cores).map(CoreId).cycle()) {
            starts[thread.index()] = core;
        }
        Split {
            cores_of_functions: Vec::new(),
            delegated: Vec::new(),
            cores,
            starts,
            start_cores: 1,
        }
    }

    /// The same split, whose threads go back to where they came from when a call of these of its
    /// functions ends; when calls of others end they stay.
    #[must_use]
    pub fn delegating(mut self, functions: impl IntoIterator<Item = FunctionId>) -> Self {
        let functions = functions.into_iter();
        self.delegated = functions.filter(|&f| self.core_of(f).is_some()).collect();
        self.delegated.sort_unstable();
        self.delegated.dedup();
        self
    }

    fn place(&mut self, function: FunctionId, core: CoreId) {
        let index = function.index();
        if self.cores_of_functions.len() <= index {
            self.cores_of_functions.resize(index + 1, None);
        }
        self.cores_of_functions[index] = Some(core);
    }

    /// The split that `plan` makes of a trace with these modules and functions. It uses all the
    /// plan's cores.
    ///
    /// # Errors
    /// [`Error::ByArgument`] for a function that goes by an argument, [`Error::OtherBuild`] or
    /// [`Error::NotInTrace`] for one that the trace does not know.
    pub fn from_plan(
        plan: &Plan,
        modules: &[Module],
        functions: &[Function],
    ) -> Result<Self, Error> {
        let mut split = Split {
            cores_of_functions: vec![None; functions.len()],
            delegated: Vec::new(),
            cores: plan.cores,
            starts: Vec::new(),
            start_cores: 1,
        };
        let mut delegated = Vec::new();
        for planned in &plan.functions {
            let core = match planned.to {
                Destination::Core(core) => core,
                Destination::By(argument) => return Err(by_argument(planned, argument)),
            };
            let mut found = false;
            for (index, function) in (0..).map(FunctionId).zip(functions) {
                let module = &modules[function.module as usize];
                if function.offset == planned.offset && is_of_build(module, planned) {
                    split.place(index, CoreId(core));
                    if planned.mode == Mode::Call {
                        delegated.push(index);
                    }
                    found = true;
                }
            }
            if !found {
                return Err(unknown(planned, modules));
            }
        }
        Ok(split.delegating(delegated))
    }

    /// The functions whose entries move threads, by ascending index.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        let indexed = (0..).map(FunctionId).zip(&self.cores_of_functions);
        indexed.filter_map(|(function, core)| core.map(|_| function))
    }

    /// The core that entering `function` moves a thread to.
    #[inline]
    pub fn core_of(&self, function: FunctionId) -> Option<CoreId> {
        *self.cores_of_functions.get(function.index())?
    }

    /// The functions at the end of whose calls threads go back, by ascending index.
    pub fn delegated(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.delegated.iter().copied()
    }

    /// Whether a thread goes back to where it came from when a call of `function` ends.
    #[inline]
    pub fn delegates(&self, function: FunctionId) -> bool {
        self.delegated.binary_search(&function).is_ok()
    }

    /// The core that `thread` starts on.
    pub fn start_core(&self, thread: ThreadId) -> CoreId {
        let named = self.starts.get(thread.index()).copied();
        named.unwrap_or(CoreId(thread.0 % self.start_cores))
    }

    /// Number of cores used, at least 1.
    pub fn cores(&self) -> u32 {
        self.cores
    }
}

fn is_of_build(module: &Module, planned: &PlannedFunction) -> bool {
    module.build_id.eq_ignore_ascii_case(&planned.build_id)
}

fn by_argument(planned: &PlannedFunction, argument: Argument) -> Error {
    Error::ByArgument {
        symbol: planned.symbol.clone(),
        module: planned.module.clone(),
        argument,
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
