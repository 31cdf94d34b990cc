//! `cohort=B`: the stages of a plan share each core in time instead of having separate cores.
//!
//! Connection n runs on core n modulo their number. If other threads wait for the core, a thread
//! that enters another stage yields. The core then runs up to B threads that wait in its current
//! stage. After them, it moves to the next stage with a waiting thread, in cyclic order. This is
//! the cohort scheduling of Larus and Parkes ("Using cohort scheduling to enhance server
//! performance", 2002). Yielding costs nothing here except the misses.

use corehop_simulator::timing::{
    Argument, Entry, Move, Queues, Scheduler, Setup, Standing, Thread, Waiting,
};

pub(super) static ENTRY: Entry = Entry {
    name: "cohort",
    summary: "stages take turns on each core, up to B threads a turn",
    standing: Standing::WhatIf,
    goes_by_plan: true,
    argument: Some(Argument {
        meaning: "how many threads a stage takes in a row",
        default: 8,
        least: 1,
    }),
    build,
};

struct Cohort {
    batch: u32,
    stages: u32,
    /// For each core: its current stage, and the number of threads it started in that stage.
    at: Vec<(u32, u32)>,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    Box::new(Cohort {
        batch: setup.argument,
        stages: setup.split.cores(),
        at: vec![(0, 0); setup.cores],
    })
}

impl Scheduler for Cohort {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.at.len()
    }

    fn enter(&mut self, thread: Thread, queues: &Queues) -> Move {
        if thread.from == thread.to {
            return Move::Stay;
        }
        if queues.waiting(thread.core).is_empty() {
            self.at[thread.core] = (thread.to, 1);
            return Move::Stay;
        }
        Move::Yield
    }

    fn choose(&mut self, core: usize, ready: &[Waiting]) -> usize {
        let (stage, taken) = self.at[core];
        let waits = |stage: u32| ready.iter().position(|thread| thread.stage == stage);
        if taken < self.batch
            && let Some(place) = waits(stage)
        {
            self.at[core] = (stage, taken + 1);
            return place;
        }
        let after = (1..=self.stages).map(|step| (stage + step) % self.stages);
        let next = after
            .filter_map(|stage| Some((stage, waits(stage)?)))
            .next();
        // There is a waiting thread in some stage.
        let (stage, place) = next.unwrap_or((stage, 0));
        self.at[core] = (stage, 1);
        place
    }
}
