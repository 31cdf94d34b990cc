//! All that is known of some functions, best first by the rule of thumb.
//!
//! Classes are of all complete requests. Replays are of requests held out, after others that warm
//! the caches, as those of a search are, so that a function's gain can be set beside a plan's.
//! Every function has its classes and its traffic, which take one pass each; a gain takes a replay
//! for each function, so only the first few have one unless all are asked for.

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

/// What to find out.
pub struct Wanted<'a> {
    /// The machine that is simulated, with two cores or more.
    pub machine: &'a Machine,
    /// Which requests warm up, and which are held out to be counted.
    pub train_test: &'a TrainTestSplit,
    /// How many functions are to have their gain, best first by the rule.
    pub gains: usize,
}

/// What is known.
pub struct Profile<'a> {
    /// The functions, and the trace they are of.
    pub subject: Subject<'a>,
    /// Their lines.
    pub lines: Characterisation,
    /// By function, as the subject has them.
    pub parts: Vec<Parts>,
    /// Places of the functions, best first by the rule.
    pub order: Vec<usize>,
    /// What replays say; `None` where no request was held out.
    pub replayed: Option<Replayed>,
}

/// What replays say.
pub struct Replayed {
    /// The machine that was simulated.
    pub machine: Machine,
    /// What all accesses made happen, without delegation.
    pub traffic: Traffic,
    /// By function.
    pub traffic_of: Vec<Traffic>,
    /// Of the first functions of the order.
    pub gains: Gains,
}

/// How well one number foretells the order of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foretold {
    /// What foretells.
    pub by: &'static str,
    /// With the share of L2 misses saved. Beside which baseline makes no difference to ranks.
    pub misses: Option<f64>,
    /// With the share of cycles saved, if hops cost nothing.
    pub cycles: Option<f64>,
}

/// A number that might foretell the gain.
type Predictor = (&'static str, fn(&Parts) -> f64);

/// What might foretell the gain: the rule, its parts, and the rule with another part.
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
    /// # Errors
    /// When the trace contradicts itself, or the machine has one core.
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

    /// How well the rule and its parts foretell the gains that are known.
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
