//! Which lines the delegated functions of a plan keep to themselves, beside other functions that
//! could be delegated: what the picture of the four classes is drawn from.
//!
//! Only a plan that delegates asks for it, since it takes two more passes over the trace. The other
//! functions are the best by the rule of thumb, of those that may be delegated by their calls;
//! which of them can be hooked, `corehop candidates --delegate` tells.

use crate::error::Error;
use corehop_characterisation::Subject;
use corehop_characterisation::classes::{Classes, FunctionClasses, Totals};
use corehop_characterisation::rule::Parts;
use corehop_explanations::Explanation;
use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::delegated::{self, MAX_CALLS};
use corehop_partitioner::progress::Progress;
use corehop_traces::FunctionId;

/// Functions shown that the plan does not delegate.
const OTHERS: usize = 10;

/// A function and its data lines.
pub struct Classified {
    pub function: FunctionId,
    /// Whether the plan delegates its calls.
    pub is_planned: bool,
    pub data: Classes,
    /// By the rule of thumb.
    pub score: f64,
}

/// All that is drawn.
pub struct Classification {
    /// The plan's first, each part best first by the rule.
    pub functions: Vec<Classified>,
    /// The server's lines.
    pub totals: Totals,
    /// Whether the trace has several sessions.
    pub are_sessions_told_apart: bool,
}

impl Classification {
    /// Of a plan that delegates calls; `None` of another.
    ///
    /// # Errors
    /// When the trace contradicts itself.
    pub fn of(
        explained: &Explanation<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Classification>, Error> {
        let planned: Vec<FunctionId> = explained.split.delegated().collect();
        if planned.is_empty() {
            return Ok(None);
        }
        let rule = CandidateRule {
            max_calls: MAX_CALLS,
            ..CandidateRule::default()
        };
        let (trace, requests) = (explained.trace, &explained.requests);
        let others = delegated::candidates(trace, requests, &rule, &planned, progress)?
            .chosen
            .into_iter()
            .map(|candidate| candidate.function);
        let functions: Vec<FunctionId> = planned.iter().copied().chain(others).collect();
        let subject = Subject::new(explained.trace, functions)?;
        let lines = subject.characterise(progress)?;
        let told_apart = subject.sessions.are_told_apart();
        let classified = |(&function, classes): (&FunctionId, &FunctionClasses)| Classified {
            function,
            is_planned: planned.contains(&function),
            data: classes.data,
            score: Parts::of(classes, &lines.totals, told_apart).score(),
        };
        let all = subject.functions.iter().zip(&lines.classes);
        let mut functions: Vec<Classified> = all.map(classified).collect();
        functions.sort_by(|a, b| {
            let planned_first = b.is_planned.cmp(&a.is_planned);
            planned_first.then(b.score.total_cmp(&a.score))
        });
        functions.truncate(planned.len() + OTHERS);
        Ok(Some(Classification {
            functions,
            totals: lines.totals,
            are_sessions_told_apart: told_apart,
        }))
    }
}
