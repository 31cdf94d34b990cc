//! A trace as if some calls of a request entered functions of their own: the eighth of one, say.
//!
//! Calls are numbered thread by thread, from 1 where a request begins. Everything that reads
//! entries then reads such a call as one of a made-up function, which a request calls once.

use crate::model::error::Error;
use crate::model::ids::FunctionId;
use crate::model::program::Function;
use crate::read::executions::Tell;
use crate::read::numbered::Numbered;
use crate::read::trace::Trace;
use std::collections::HashMap;

impl Trace {
    /// The same executions; these calls of functions in requests enter functions of their own,
    /// which are named after them. `tell` is told of all executions as they are read.
    ///
    /// # Errors
    /// [`Error::Damaged`] when a chunk contradicts itself.
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

    /// Of a function that stands for one call of a request: the recorded function, and which call.
    #[must_use]
    pub fn call_meant(&self, function: FunctionId) -> Option<(FunctionId, u32)> {
        let place = function.index().checked_sub(self.numbered.first)?;
        self.numbered.meant.get(place).copied()
    }

    /// Whether other functions stand for some calls of this one.
    #[must_use]
    pub fn has_numbered_calls(&self, function: FunctionId) -> bool {
        self.numbered.meant.iter().any(|(of, _)| *of == function)
    }
}
