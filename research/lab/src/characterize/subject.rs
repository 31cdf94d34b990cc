//! The input of a characterisation: some functions of a trace, over all its complete requests.

use crate::characterize::classes::{FunctionClasses, Totals};
use crate::characterize::error::Error;
use crate::characterize::open_sets::{OpenSets, calls_of};
use crate::characterize::session::Sessions;
use crate::characterize::touches::Touches;
use corehop_partitioner::progress::{self, Progress};
use corehop_partitioner::requests::complete;
use corehop_traces::function_name::is_called;
use corehop_traces::{Access, Calls, FunctionId, RequestId, Trace};

/// Functions of a trace, with their calls.
pub struct Subject<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The requested functions.
    pub functions: Vec<FunctionId>,
    /// The complete requests.
    pub requests: Vec<RequestId>,
    /// The session of each request.
    pub sessions: Sessions,
    pub(crate) calls: Calls,
}

/// The classes of the lines of each function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Characterisation {
    /// The server's lines.
    pub totals: Totals,
    /// In the order of the functions.
    pub classes: Vec<FunctionClasses>,
    /// Number of calls of each in the requests.
    pub calls: Vec<u64>,
}

impl<'a> Subject<'a> {
    /// Finds the calls of these functions in one pass over the trace.
    ///
    /// # Errors
    /// If the trace contains no complete request, or is inconsistent.
    pub fn new(trace: &'a Trace, functions: Vec<FunctionId>) -> Result<Subject<'a>, Error> {
        let requests = complete(trace.requests());
        if requests.is_empty() {
            return Err(corehop_partitioner::Error::NoRequests.into());
        }
        Ok(Subject {
            trace,
            sessions: Sessions::of(trace, &requests),
            calls: calls_of(trace, &functions)?,
            functions,
            requests,
        })
    }

    /// Returns the functions with one of these names or symbols; parameters of C++ names may be
    /// omitted.
    ///
    /// # Errors
    /// [`Error::NoSuchFunction`] for a name without a function.
    pub fn named(trace: &Trace, names: &[String]) -> Result<Vec<FunctionId>, Error> {
        let mut found: Vec<FunctionId> = Vec::new();
        for name in names {
            let before = found.len();
            let is_named = |place: &usize| {
                let function = &trace.functions()[*place];
                function.symbol == *name || is_called(&function.name, name)
            };
            let all = (0..trace.functions().len()).filter(is_named);
            found.extend(all.map(FunctionId::from_index));
            if found.len() == before {
                return Err(Error::NoSuchFunction { name: name.clone() });
            }
        }
        let mut once = Vec::new();
        found.retain(|function| {
            let is_new = !once.contains(function);
            once.push(*function);
            is_new
        });
        Ok(found)
    }

    /// Classifies every line in one pass over the requests.
    ///
    /// # Errors
    /// If the trace is inconsistent.
    pub fn characterise(&self, progress: &dyn Progress) -> Result<Characterisation, Error> {
        let mut touches = Touches::default();
        let open = self.each_access(("code blocks classified", progress), |access, whose| {
            for line in access.lines() {
                touches.touch(line, access.kind, whose);
            }
        })?;
        Ok(self.characterisation(touches, &open))
    }

    /// Calls `take` for each access of the requests, with the number of the set of open calls and
    /// the session.
    pub(crate) fn each_access(
        &self,
        (stage, progress): (&str, &dyn Progress),
        mut take: impl FnMut(&Access, (u32, u32)),
    ) -> Result<OpenSets<'_>, Error> {
        let mut open = OpenSets::new(self.trace, &self.calls, &self.functions);
        let stage = (stage, self.trace.executions_read(Some(&self.requests)));
        progress::stage(progress, stage, |tell| {
            let mut executions = self.trace.executions_of(&self.requests).telling(tell);
            while let Some(execution) = executions.next()? {
                let set = open.come(&execution);
                let session = execution.request.and_then(|r| self.sessions.session(r));
                let whose = (set, session.unwrap_or(0));
                for access in execution.accesses {
                    take(access, whose);
                }
            }
            Ok(open)
        })
    }

    /// Converts these counts to a characterisation.
    pub(crate) fn characterisation(
        &self,
        touches: Touches,
        open: &OpenSets<'_>,
    ) -> Characterisation {
        let (totals, classes) = touches.classes(&open.sets, self.functions.len());
        Characterisation {
            totals,
            classes,
            calls: open.calls.clone(),
        }
    }
}
