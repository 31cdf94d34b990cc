//! One objective on several machines: a weighted mean of ratios to one core.
//!
//! A plan may have to serve several machines. Misses of a small cache outnumber those of a large
//! one, and cycles of different machines are not comparable. So values are not added directly: each
//! is divided by the machine's own value of everything on one core:
//!
//! > value(split) = sum over machines m of w(m) x value(m, split) / value(m, one core),
//! > divided by the sum of the weights.
//!
//! One core has the value 1 on every machine. With fixed weights and baselines, this is a sum over
//! machines and cores, so every search method for one machine also works here. For this, every
//! machine gets a whole number as its factor, and values are in units of 1 / [`ONE`]: the search
//! counts in whole numbers and stays exact. A geometric mean, which is usual for ratios, is not a
//! sum.

use crate::Error;
use crate::checkpoint::Subject;
use crate::evaluate::Term;
use crate::objective::Objective;
use corehop_simulator::{Machine, Prepared, PrivateReplay, Replay, Split};
use corehop_traces::{FunctionId, RequestId};

/// A machine and its weight.
#[derive(Clone, Debug)]
pub struct Weighted {
    /// The machine.
    pub machine: Machine,
    /// A number above 0; only the ratio to other weights matters.
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

/// The value of one core if there are several machines.
pub const ONE: u64 = 1_000_000_000_000_000;

/// Machines with their factors; 1 if there is only one.
pub struct Factors<'a> {
    /// The machines, each with the factor of its value.
    pub machines: Vec<(&'a Machine, u64)>,
    /// The objective to minimize.
    pub objective: Objective,
}

impl<'a> Factors<'a> {
    /// Returns the factors for `rounds` rounds of the prepared requests.
    ///
    /// # Errors
    /// Fails if the replay on one core fails.
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

    /// Returns the checkpoint subject of a search at these functions, on these requests.
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

    /// Returns the term of each machine; `None` if cores of one share an L2.
    pub fn terms(&self, prepared: &Prepared, rounds: usize) -> Option<Vec<Term>> {
        self.terms_with(|machine| PrivateReplay::new(prepared, machine, rounds))
    }

    /// Like [`Factors::terms`], with another private replay of a core.
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

    /// Returns the value of a split, in units of 1 / [`ONE`] if there are several machines.
    ///
    /// # Errors
    /// Fails if the replay fails.
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
