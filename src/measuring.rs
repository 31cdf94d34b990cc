//! What is shown of a measurement while it runs: a bar, and with --verbose each round. And whether
//! the patched server was one in all of its rounds.

use crate::console;
use crate::interrupt;
use crate::progress::Bar;
use corehop_measure::Observer;
use corehop_measure::rounds::{Comparison, Group, Rounds};
use corehop_partitioner::progress::Progress;

/// Shows it, and has Ctrl-C and SIGTERM end it; [`interrupt::listen`] comes first.
pub struct Shown(Bar);

impl Shown {
    /// Before anything is measured.
    pub fn new() -> Shown {
        Shown(Bar::new())
    }
}

impl Observer for Shown {
    fn begin(&self, stage: &str, total: Option<u64>) {
        self.0.begin(stage, total);
    }

    fn advance(&self, steps: u64) {
        self.0.advance(steps);
    }

    fn end(&self) {
        self.0.end();
    }

    fn round(&self, number: usize, [original, patched]: [f64; 2]) {
        console::detail(&format!("round {number}: {original:.6} and {patched:.6}"));
    }

    fn raced(&self, number: usize, throughputs: &[f64]) {
        let throughputs: Vec<String> = throughputs.iter().map(|of| format!("{of:.6}")).collect();
        console::detail(&format!("race, round {number}: {}", throughputs.join(", ")));
    }

    fn compared(&self, rounds: usize, comparison: &Comparison) {
        let Comparison { ratio, low, high } = comparison;
        console::detail(&format!(
            "{rounds} rounds: {ratio:.3} ({low:.3} to {high:.3})"
        ));
    }

    fn said(&self, line: &str) {
        console::detail(&format!("the patched server: {line}"));
    }

    fn is_interrupted(&self) -> bool {
        interrupt::is_asked()
    }
}

/// What a user sees of a server that is fast in some starts only.
pub fn in_groups([slower, faster]: &[Group; 2]) -> String {
    let all = slower.runs + faster.runs;
    format!(
        "starts differ: {} of {all} ran at {:.2} times the original's speed, {} at {:.2}",
        slower.runs, slower.ratio, faster.runs, faster.ratio
    )
}

/// What speaks against rounds whose patched server told nothing of its hops, if there are any.
pub fn untold(rounds: &Rounds) -> Option<String> {
    let all = rounds.all();
    let untold = all.iter().filter(|round| round.patched.hops.is_none());
    let when = match untold.count() {
        0 => return None,
        untold if untold == all.len() => String::new(),
        untold => format!("in {untold} of {} rounds ", all.len()),
    };
    Some(format!(
        "warning: {when}the patched server told nothing of its hops: it was killed, or runs \
         without hooks (its messages are shown with --verbose)"
    ))
}
