//! Functions not all of whose calls go to one core: to that of the object that a call is about, or
//! to a core at single calls of a request.
//!
//! Where each call goes is found before the replay, which looks it up by the execution that enters
//! it.

use super::{Split, Target};
use crate::error::Error;
use crate::objects::{Objects, calls_of};
use crate::threads::kth_calls::{KthCalls, NumberedCalls};
use corehop_plan::{By, KthCall, Mode};
use corehop_traces::{EnteredCall, FunctionId, Trace};
use std::sync::Arc;

impl Split {
    /// The same split, in which these functions of `trace` go by an argument: each of their calls
    /// takes its thread to the core of the object that it is about. Objects have all of `cores`
    /// cores; none of the split's functions has a higher one.
    ///
    /// # Errors
    /// [`Error::NoArguments`] when the trace does not tell arguments, [`Error::Trace`] for a trace
    /// that cannot be read.
    pub fn by_argument(
        self,
        trace: &Trace,
        functions: &[(FunctionId, By, Mode)],
        cores: u32,
    ) -> Result<Self, Error> {
        let calls = calls_of(trace, functions.iter().map(|(function, _, _)| *function))?;
        self.by_arguments_of(&calls, trace, functions, cores)
    }

    /// The same, where all their calls are known: they are among `calls`, in the order of the
    /// trace.
    ///
    /// # Errors
    /// [`Error::Trace`] for a trace that cannot be read.
    pub fn by_arguments_of(
        mut self,
        calls: &[EnteredCall],
        trace: &Trace,
        functions: &[(FunctionId, By, Mode)],
        cores: u32,
    ) -> Result<Self, Error> {
        self.cores = self.cores.max(cores);
        let mut arguments = Vec::new();
        let mut delegated = self.delegated.clone();
        for &(function, by, mode) in functions {
            self.place(function, Target::Object);
            arguments.push((function, by));
            if mode == Mode::Call {
                delegated.push(function);
            }
        }
        let split = self.delegating(delegated);
        let mut goes_back = vec![false; trace.functions().len()];
        for function in split.delegated() {
            goes_back[function.index()] = true;
        }
        let objects = Objects::of(trace, calls, &arguments, &goes_back, split.cores)?;
        Ok(Split {
            objects: Some(Arc::new(objects)),
            ..split
        })
    }

    /// The same split, in which only these calls of a request of these functions of `trace` move
    /// their thread. None of the functions goes by an argument, and each has one mode.
    ///
    /// # Errors
    /// [`Error::Trace`] for a trace that cannot be read.
    pub fn at_calls(
        mut self,
        trace: &Trace,
        functions: &[(FunctionId, KthCall, Mode)],
    ) -> Result<Self, Error> {
        let called = |&(function, _, mode)| (mode == Mode::Call).then_some(function);
        let delegated = functions.iter().filter_map(called);
        let all: Vec<FunctionId> = self.delegated.iter().copied().chain(delegated).collect();
        let mut goes_back = vec![false; trace.functions().len()];
        all.iter()
            .for_each(|function| goes_back[function.index()] = true);
        let named = functions.iter().map(|(function, ..)| *function);
        let calls = NumberedCalls::of(trace, named, &goes_back)?;
        for &(function, meant, _) in functions {
            self.cores = self.cores.max(meant.core + 1);
            self.place(function, Target::KthCall);
        }
        let split = self.delegating(all);
        let meant = functions
            .iter()
            .map(|&(function, meant, _)| (function, meant));
        let meant: Vec<(FunctionId, KthCall)> = meant.collect();
        Ok(Split {
            kth_calls: Some(Arc::new(KthCalls::of(&calls, &meant))),
            ..split
        })
    }
}
