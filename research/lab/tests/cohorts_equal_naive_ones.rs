//! Both cohort schedulers, in the engine and in the naive event simulation of the simulator's
//! tests, in which each decision is computed naively by `research/cohorts.md`.

use crate::timing::against_naive::case::Case;
use crate::timing::against_naive::every_counter_is_equal;
use crate::timing::against_naive::naive::Naive;
use crate::timing::against_naive::policy::{By, Policy};
use crate::timing::against_naive::program::Script;
use corehop_lab::cohorts::SCHEDULERS;

/// A scheduler's own state.
struct Cohorts {
    /// For each core: its current stage, and the number of threads it has started in it (`cohort`).
    at: Vec<(u32, u32)>,
    /// For each core: all threads it has run so far, and for each whether it was the first of a
    /// turn (`split-cohort`).
    taken: Vec<Vec<(By, bool)>>,
}

fn cohorts(case: &Case, _scripts: &[Script]) -> Box<dyn Policy> {
    Box::new(Cohorts {
        at: vec![(0, 0); case.cores as usize],
        taken: vec![Vec::new(); case.cores as usize],
    })
}

impl Policy for Cohorts {
    fn first_core(&self, case: &Case, connection: usize) -> usize {
        match case.name() {
            "split-cohort" => 0,
            _ => connection % case.cores as usize,
        }
    }

    fn enter(&mut self, at: &Naive<'_>, core: usize, (from, to): (u32, u32)) -> Option<usize> {
        match at.case.name() {
            "split-cohort" => (to as usize != core).then_some(to as usize),
            _ if from != to && !at.waiting_for(core).is_empty() => Some(core),
            _ if from != to => {
                self.at[core] = (to, 1);
                None
            }
            _ => None,
        }
    }

    fn choose(&mut self, case: &Case, core: usize, ready: &[(u32, By)]) -> usize {
        match case.name() {
            "split-cohort" => {
                let (place, is_first) = self.next_in_turn(case, core, ready);
                self.taken[core].push((ready[place].1, is_first));
                place
            }
            _ => self.next_of_stage(case, core, ready),
        }
    }
}

impl Cohorts {
    /// Also returns whether it begins a turn.
    fn next_in_turn(&self, case: &Case, core: usize, ready: &[(u32, By)]) -> (usize, bool) {
        let taken = &self.taken[core];
        let Some(began) = taken.iter().rposition(|(_, is_first)| *is_first) else {
            return (0, true);
        };
        let same = ready.iter().position(|(_, by)| *by == taken[began].0);
        match same {
            Some(place) if taken.len() - began < case.argument as usize => (place, false),
            _ => (0, true),
        }
    }

    fn next_of_stage(&mut self, case: &Case, core: usize, ready: &[(u32, By)]) -> usize {
        let (mut stage, mut taken) = self.at[core];
        loop {
            let place = ready.iter().position(|waiting| waiting.0 == stage);
            if let Some(place) = place.filter(|_| taken < case.argument) {
                self.at[core] = (stage, taken + 1);
                return place;
            }
            stage = (stage + 1) % case.planned.cores();
            taken = 0;
        }
    }
}

#[test]
fn every_counter_is_equal_for_both_schedulers() {
    every_counter_is_equal(&SCHEDULERS, cohorts);
}
