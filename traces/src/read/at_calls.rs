//! A trace in which selected calls in a request enter functions of their own, e.g. the eighth call.
//!
//! Calls are numbered per thread, from 1 at the beginning of a request. All code that reads entries
//! then sees such a call as an entry of a made-up function, which is called once per request.

use crate::model::error::Error;
use crate::model::ids::FunctionId;
use crate::model::program::Function;
use crate::read::executions::Tell;
use crate::read::numbered::Numbered;
use crate::read::trace::Trace;
use std::collections::HashMap;

impl Trace {
    /// Keeps the executions; each of these calls of functions in requests enters a separate
    /// function, named after the call. `tell` receives the number of executions as they are read.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a chunk contradicts itself.
    pub fn with_functions_at_calls(
        mut self,
        calls: &[(FunctionId, u32)],
        tell: Tell<'_>,
    ) -> Result<Trace, Error> {
        let first = self.contents.functions.len();
        let mut numbers: HashMap<FunctionId, HashMap<u32, FunctionId>> = HashMap::new();
        for (place, &(function, call)) in calls.iter().enumerate() {
            let made_up = FunctionId::from_index(first + place);
            numbers.entry(function).or_default().insert(call, made_up);
        }
        let mut entered = vec![Vec::new(); self.threads().len()];
        let mut counted = HashMap::new();
        let mut executions = self.executions().telling(tell);
        while let Some(execution) = executions.next()? {
            let (Some(function), Some(request)) = (execution.entry, execution.request) else {
                continue;
            };
            let Some(numbers) = numbers.get(&function) else {
                continue;
            };
            let key = (execution.thread, function);
            let (of, calls) = counted.entry(key).or_insert((request, 0));
            if *of != request {
                (*of, *calls) = (request, 0);
            }
            *calls += 1;
            if let Some(&made_up) = numbers.get(calls) {
                entered[execution.thread.index()].push((execution.number, made_up));
            }
        }
        let functions = &mut self.contents.functions;
        for &(function, call) in calls {
            let of = functions[function.index()].clone();
            let named = |name: &str| format!("{name} at call {call}");
            functions.push(Function {
                symbol: named(&of.symbol),
                name: named(&of.name),
                ..of
            });
        }
        self.numbered = Numbered {
            entered,
            first,
            meant: calls.to_vec(),
        };
        Ok(self)
    }

    /// For a function made up for one call of a request: returns the recorded function and the
    /// number of the call.
    #[must_use]
    pub fn call_meant(&self, function: FunctionId) -> Option<(FunctionId, u32)> {
        let place = function.index().checked_sub(self.numbered.first)?;
        self.numbered.meant.get(place).copied()
    }

    /// Returns whether made-up functions replace some calls of this one.
    #[must_use]
    pub fn has_numbered_calls(&self, function: FunctionId) -> bool {
        self.numbered.meant.iter().any(|(of, _)| *of == function)
    }
}
