//! Functions without one core for all their calls: each call goes to the core of its object, or
//! only selected calls of a request move the thread.
//!
//! The destination of each call is computed before the replay, which looks it up by the execution
//! that enters the call.

use super::{Split, Target};
use crate::error::Error;
use crate::objects::{Objects, calls_of};
use crate::threads::kth_calls::{KthCalls, NumberedCalls};
use corehop_plan::{By, KthCall, Mode};
use corehop_traces::{EnteredCall, FunctionId, Trace};
use std::sync::Arc;

impl Split {
    /// Returns the same split, with these functions of `trace` selecting their core by an argument:
    /// each of their calls moves its thread to the core of the call's object. Objects may have any
    /// of `cores` cores; none of the split's functions has a higher one.
    ///
    /// # Errors
    /// [`Error::NoArguments`] if the trace has no arguments, [`Error::Trace`] if the trace cannot
    /// be read.
    pub fn by_argument(
        self,
        trace: &Trace,
        functions: &[(FunctionId, By, Mode)],
        cores: u32,
    ) -> Result<Self, Error> {
        let calls = calls_of(trace, functions.iter().map(|(function, _, _)| *function))?;
        self.by_arguments_of(&calls, trace, functions, cores)
    }

    /// Does the same with known calls: `calls` contains all calls of these functions, in trace
    /// order.
    ///
    /// # Errors
    /// [`Error::Trace`] if the trace cannot be read.
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

    /// Returns the same split, with these functions of `trace` moving their thread only at these
    /// calls of a request. None of the functions selects its core by an argument, and each has one
    /// mode.
    ///
    /// # Errors
    /// [`Error::Trace`] if the trace cannot be read.
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
