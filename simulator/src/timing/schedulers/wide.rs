//! `wide`: a plan whose stages may have several cores, in proportion to their load.
//!
//! Each stage has a core. Each further core is assigned to the stage that then has the most
//! references per core; of equal ones the first. A stage's cores are neighbours. A thread that
//! enters another stage hops to the core of that stage with the fewest threads. An idle core takes
//! waiting threads of busy cores of its stage, from the longest queue.

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::{Move, Scheduler, Thread, longest};
use std::ops::Range;

pub(super) static ENTRY: Entry = Entry {
    name: "wide",
    summary: "a stage of the plan has several cores, sized by its load",
    standing: Standing::WhatIf,
    goes_by_plan: true,
    argument: None,
    build,
};

struct Wide {
    /// The cores of each stage.
    cores: Vec<Range<usize>>,
    /// The stage of each core.
    stages: Vec<usize>,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let sizes = sizes(&(setup.load)(), setup.cores);
    let mut next = 0;
    let ranges = sizes.iter().map(|size| {
        next += size;
        next - size..next
    });
    let stages = (0..).zip(&sizes);
    let stages = stages.flat_map(|(stage, &size)| std::iter::repeat_n(stage, size));
    Box::new(Wide {
        cores: ranges.collect(),
        stages: stages.collect(),
    })
}

/// Returns the number of cores of each stage, by its load.
fn sizes(load: &[u64], cores: usize) -> Vec<usize> {
    let mut sizes = vec![1; load.len()];
    for _ in load.len()..cores {
        // Compares load / size without division.
        let more = |a: usize, b: usize, sizes: &[usize]| {
            u128::from(load[a]) * sizes[b] as u128 > u128::from(load[b]) * sizes[a] as u128
        };
        let heavier = |best, stage| {
            if more(stage, best, &sizes) {
                stage
            } else {
                best
            }
        };
        let heaviest = (0..load.len()).fold(0, heavier);
        sizes[heaviest] += 1;
    }
    sizes
}

impl Scheduler for Wide {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.cores[0].len()
    }

    fn enter(&mut self, thread: Thread, queues: &Queues) -> Move {
        let stage = thread.to as usize;
        let fewest = self.cores[stage].clone();
        match fewest.min_by_key(|&core| queues.threads(core)) {
            Some(core) if self.stages[thread.core] != stage => Move::Hop(core),
            _ => Move::Stay,
        }
    }

    fn may_take(&self, core: usize, from: usize) -> bool {
        self.stages[core] == self.stages[from]
    }

    fn victim(&mut self, _core: usize, candidates: &[usize], queues: &Queues) -> usize {
        longest(candidates, queues)
    }
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn further_cores_go_where_the_load_is() {
        assert_eq!(sizes(&[10, 10], 4), [2, 2]);
        assert_eq!(sizes(&[10, 31], 4), [1, 3]);
        assert_eq!(sizes(&[30, 10, 0], 5), [3, 1, 1]);
        assert_eq!(sizes(&[0, 0], 3), [2, 1]);
        assert_eq!(sizes(&[5], 3), [3]);
    }
}
