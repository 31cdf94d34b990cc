//! Operations in a recording that the `carrier` backend does not support.

use corehop_plan::carriers::{Effect, ROWS, Row};
use corehop_traces::{LastingCall, Trace};

/// Returns the rows of the table whose operations the server performed while recorded.
pub fn seen(trace: &Trace) -> impl Iterator<Item = &'static Row> {
    let calls = trace.lasting_calls().iter();
    let is_done = move |row: &&Row| {
        let is_it = |call: &LastingCall| row.is_done_by(call.number, call.arguments);
        calls.clone().any(is_it)
    };
    ROWS.iter().filter(is_done)
}

/// Returns why the `carrier` backend refuses the server as a whole, for its plan.
pub(crate) fn refusal(trace: &Trace) -> Option<String> {
    let refused = seen(trace).find(|row| row.effect == Effect::Refuses);
    refused.map(|row| row.reason.to_owned())
}
