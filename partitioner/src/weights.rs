//! One objective on several machines: a weighted mean of what each does beside one core.
//!
//! A plan may have to serve several machines. Misses of a small cache outnumber those of a large
//! one, and cycles of one machine are not those of another, so values are not added as they are:
//! each is divided by the machine's own value of everything on one core, and
//!
//! > value(split) = sum over machines m of w(m) x value(m, split) / value(m, one core),
//! > divided by the sum of the weights.
//!
//! One core is 1, whatever the machine. With the weights and the baselines fixed that is a sum over
//! machines and cores, so everything that finds the best split of one machine finds it here. For
//! that every machine gets a whole number as its factor, and values are in units of 1 / [`ONE`]:
//! the search counts in whole numbers and stays exact. A geometric mean, which is usual for ratios,
//! is no sum.

use crate::Error;
use crate::checkpoint::Subject;
use crate::evaluate::Term;
use crate::objective::Objective;
use corehop_simulator::{Machine, Prepared, PrivateReplay, Replay, Split};
use corehop_traces::{FunctionId, RequestId};

/// A machine, and how much it counts beside others.
#[derive(Clone, Debug)]
pub struct Weighted {
    /// The machine.
    pub machine: Machine,
    /// Any number above 0; only the ratio to other weights matters.
    pub weight: f64,
}

impl From<Machine> for Weighted {
    fn from(machine: Machine) -> Weighted {
        Weighted {
            machine,
            weight: 1.0,
        }
    }
}

/// What one core is worth where several machines are weighed.
pub const ONE: u64 = 1_000_000_000_000_000;

/// Machines with their factors; 1 where there is only one.
pub struct Factors<'a> {
    /// The machines, each with what its value is multiplied by.
    pub machines: Vec<(&'a Machine, u64)>,
    /// What is made small.
    pub objective: Objective,
}

impl<'a> Factors<'a> {
    /// For `rounds` rounds of what was prepared.
    ///
    /// # Errors
    /// What replaying everything on one core says.
    pub fn of(
        machines: &'a [Weighted],
        objective: Objective,
        prepared: &Prepared,
        rounds: usize,
    ) -> Result<Factors<'a>, Error> {
        let total: f64 = machines.iter().map(|of| of.weight).sum();
        let factor = |of: &'a Weighted| {
            if machines.len() == 1 {
                return Ok((&of.machine, 1));
            }
            let replay = prepared.replay_rounds(&of.machine, &Split::default(), rounds)?;
            let baseline = objective.of(&replay).max(1) as f64;
            let factor = ONE as f64 * (of.weight / total) / baseline;
            Ok((&of.machine, (factor.round() as u64).max(1)))
        };
        Ok(Factors {
            machines: machines.iter().map(factor).collect::<Result<_, Error>>()?,
            objective,
        })
    }

    /// What a checkpoint keeps of a search at these functions, on these requests.
    pub(crate) fn subject(
        &self,
        (functions, requests): (Vec<FunctionId>, Vec<RequestId>),
        rounds: usize,
    ) -> Subject {
        Subject {
            value: format!("{:?} {:?}", self.objective, self.machines),
            functions,
            requests,
            rounds,
        }
    }

    /// What one core of each machine adds; `None` where cores of one share an L2.
    pub fn terms(&self, prepared: &Prepared, rounds: usize) -> Option<Vec<Term>> {
        self.terms_with(|machine| PrivateReplay::new(prepared, machine, rounds))
    }

    /// The same where a core of a machine replays so.
    pub(crate) fn terms_with(
        &self,
        private_replay: impl Fn(&Machine) -> Option<PrivateReplay>,
    ) -> Option<Vec<Term>> {
        let term = |&(machine, factor): &(&Machine, u64)| {
            Some(Term {
                private_replay: private_replay(machine)?,
                cost: self.objective.cost(machine),
                factor,
            })
        };
        self.machines.iter().map(term).collect()
    }

    /// The value of a split, in units of 1 / [`ONE`] where there are several machines.
    ///
    /// # Errors
    /// What replaying it says.
    pub fn replayed(
        &self,
        prepared: &Prepared,
        split: &Split,
        rounds: usize,
    ) -> Result<u64, Error> {
        let value = |&(machine, factor): &(&Machine, u64)| {
            let replay: Replay = prepared.replay_rounds(machine, split, rounds)?;
            Ok(factor.saturating_mul(self.objective.of(&replay)))
        };
        let values = self.machines.iter().map(value);
        values.sum::<Result<u64, Error>>()
    }
}
