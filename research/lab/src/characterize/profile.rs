//! All results for some functions, best first by the rule of thumb.
//!
//! Classes are of all complete requests. Replays count held-out requests, after others that warm
//! the caches, like those of a search, so that a function's gain is comparable with a plan's. Every
//! function has its classes and its traffic, which take one pass each. A gain takes a replay for
//! each function, so only the first few have one unless all are requested.

use crate::characterize::classes::FunctionClasses;
use crate::characterize::error::Error;
use crate::characterize::gain::{Baseline, Gains, gains, in_turn};
use crate::characterize::rule::Parts;
use crate::characterize::subject::{Characterisation, Subject};
use crate::characterize::traffic::Traffic;
use corehop_measure::rank::correlation;
use corehop_partitioner::progress::Progress;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_simulator::Machine;
use corehop_traces::FunctionId;

/// Parameters of a characterisation.
pub struct Wanted<'a> {
    /// The machine to simulate, with at least two cores.
    pub machine: &'a Machine,
    /// The requests for the warm-up, and the held-out ones that are counted.
    pub train_test: &'a TrainTestSplit,
    /// Number of functions whose gain is replayed, best first by the rule.
    pub gains: usize,
}

/// The results.
pub struct Profile<'a> {
    /// The functions, and their trace.
    pub subject: Subject<'a>,
    /// The classes of their lines.
    pub lines: Characterisation,
    /// The parts of the rule for each function, in the subject's order.
    pub parts: Vec<Parts>,
    /// Indices of the functions, best first by the rule.
    pub order: Vec<usize>,
    /// Results of replays; `None` if no request was held out.
    pub replayed: Option<Replayed>,
}

/// Results of replays.
pub struct Replayed {
    /// The simulated machine.
    pub machine: Machine,
    /// Traffic of all accesses, without delegation.
    pub traffic: Traffic,
    /// Traffic of each function.
    pub traffic_of: Vec<Traffic>,
    /// Gains of the first functions of the order.
    pub gains: Gains,
}

/// The rank correlation of a predictor with the gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foretold {
    /// The name of the predictor.
    pub by: &'static str,
    /// Correlation with the share of L2 misses saved. The baseline does not affect ranks.
    pub misses: Option<f64>,
    /// Correlation with the share of cycles saved, if hops cost nothing.
    pub cycles: Option<f64>,
}

/// A possible predictor of the gain.
type Predictor = (&'static str, fn(&Parts) -> f64);

/// The predictors: the rule, its parts, and the rule with another part.
const PREDICTORS: [Predictor; 6] = [
    ("rule of thumb", Parts::score),
    ("PL/SG x updates", |parts| parts.coherence),
    ("PL", |parts| parts.capacity),
    ("less PG/SL", |parts| -parts.locality),
    ("smaller side", |parts| parts.smaller_side),
    ("rule, smaller side for PL", Parts::balanced),
];

impl<'a> Profile<'a> {
    /// Characterises the subject's functions.
    ///
    /// If the trace is inconsistent, or the machine has one core.
    pub fn of(
        subject: Subject<'a>,
        wanted: &Wanted<'_>,
        progress: &dyn Progress,
    ) -> Result<Profile<'a>, Error> {
        let lines = subject.characterise(progress)?;
        let told_apart = subject.sessions.are_told_apart();
        let parts = |classes: &FunctionClasses| Parts::of(classes, &lines.totals, told_apart);
        let parts: Vec<Parts> = lines.classes.iter().map(parts).collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by(|&a, &b| parts[b].score().total_cmp(&parts[a].score()));
        let replayed = match wanted.train_test.held_out.is_empty() {
            true => None,
            false => Some(Replayed::of(&subject, &order, wanted, progress)?),
        };
        Ok(Profile {
            subject,
            lines,
            parts,
            order,
            replayed,
        })
    }

    /// Returns how well the rule and its parts predict the known gains.
    pub fn foretold(&self) -> Vec<Foretold> {
        let Some(replayed) = &self.replayed else {
            return Vec::new();
        };
        let known = self.order.iter().take(replayed.gains.delegated.len());
        let known: Vec<usize> = known.copied().collect();
        let gains = &replayed.gains;
        let of = |predictor: fn(&Parts) -> f64, saved: &dyn Fn(usize) -> Option<f64>| {
            let pair = |(rank, &place): (usize, &usize)| {
                Some((predictor(&self.parts[place]), saved(rank)?))
            };
            let pairs: Vec<(f64, f64)> = known.iter().enumerate().filter_map(pair).collect();
            correlation(&pairs)
        };
        let one_core = Baseline::OneCore;
        let foretold = |&(by, predictor): &Predictor| Foretold {
            by,
            misses: of(predictor, &|rank| gains.misses_saved(one_core, rank)),
            cycles: of(predictor, &|rank| {
                gains.cycles_saved((one_core, rank), &replayed.machine, 0)
            }),
        };
        PREDICTORS.iter().map(foretold).collect()
    }
}

impl Replayed {
    fn of(
        subject: &Subject<'_>,
        order: &[usize],
        wanted: &Wanted<'_>,
        progress: &dyn Progress,
    ) -> Result<Replayed, Error> {
        let machine = wanted.machine;
        let options = wanted.train_test.held_out_options();
        let split = in_turn(subject, &options);
        let (traffic, traffic_of) = subject.traffic(machine, &split, &options, progress)?;
        let first = order.iter().take(wanted.gains);
        let first: Vec<FunctionId> = first.map(|&place| subject.functions[place]).collect();
        Ok(Replayed {
            machine: machine.clone(),
            traffic,
            traffic_of,
            gains: gains(subject, &first, machine, &options, progress)?,
        })
    }
}
