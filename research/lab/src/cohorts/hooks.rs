//! `split-cohort=B`: hops as planned; each core runs up to B consecutive threads that came by the
//! same hook.
//!
//! The runtime of this experiment does the same with `COREHOP_COHORT` (research/cohorts.md).

use super::turn::Turn;
use corehop_simulator::timing::{
    Argument, Entry, Move, Queues, Scheduler, Setup, Standing, Thread, Waiting,
};

pub(super) static ENTRY: Entry = Entry {
    name: "split-cohort",
    summary: "hops as the plan says; cores take up to B threads of one hook in a row",
    standing: Standing::Runtime,
    goes_by_plan: true,
    argument: Some(Argument {
        meaning: "how many threads of one hook a core takes in a row",
        default: 8,
        least: 1,
    }),
    build,
};

struct SplitCohort {
    /// The turn of each core.
    turns: Vec<Turn>,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    Box::new(SplitCohort {
        turns: vec![Turn::of(setup.argument); setup.cores],
    })
}

impl Scheduler for SplitCohort {
    fn first_core(&self, _connection: usize) -> usize {
        0
    }

    fn enter(&mut self, thread: Thread, _queues: &Queues) -> Move {
        Move::Hop(thread.to as usize)
    }

    fn choose(&mut self, core: usize, ready: &[Waiting]) -> usize {
        self.turns[core].choose(ready.iter().map(|thread| thread.came_by))
    }
}
