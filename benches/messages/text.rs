//! The thesis's comparisons of a server with a lock (sections 3.4.2 and 3.4.3).

use crate::experiments::Experiment;
use crate::simulated::{Point, Rates, Way};

/// A figure: a server's rounds or cycles relative to the lock's, at the best or worst of some
/// points.
pub struct Figure {
    pub name: &'static str,
    pub told: &'static str,
    experiment: &'static str,
    /// Selects the points; also receives the lines of an L1D.
    is_of: fn(&Point, u64) -> bool,
    of: fn(&Rates) -> f64,
    is_most: bool,
}

const DISPLACEMENT: &str = "displacement";
const INVALIDATION: &str = "invalidation";

pub const TEXT: [Figure; 7] = [
    Figure {
        name: "rounds, section below a sixteenth of an L1D, most",
        told: "< 1",
        experiment: DISPLACEMENT,
        is_of: |point, l1d_lines| point.section_lines * 16 < l1d_lines,
        of: rounds,
        is_most: true,
    },
    Figure {
        name: "rounds, section within an L1D, most",
        told: "3",
        experiment: DISPLACEMENT,
        is_of: |point, l1d_lines| point.section_lines <= l1d_lines,
        of: rounds,
        is_most: true,
    },
    Figure {
        name: "rounds, section beyond an L1D, most",
        told: "1",
        experiment: DISPLACEMENT,
        is_of: |point, l1d_lines| point.section_lines > l1d_lines,
        of: rounds,
        is_most: true,
    },
    Figure {
        name: "cycles a round, section within an L1D, least",
        told: "0.77",
        experiment: DISPLACEMENT,
        is_of: |point, l1d_lines| point.section_lines <= l1d_lines,
        of: cycles,
        is_most: false,
    },
    Figure {
        name: "cycles a round, section beyond an L1D, most",
        told: "1",
        experiment: DISPLACEMENT,
        is_of: |point, l1d_lines| point.section_lines > l1d_lines,
        of: cycles,
        is_most: true,
    },
    Figure {
        name: "rounds, all of the section modified, most",
        told: "> 1",
        experiment: INVALIDATION,
        is_of: |point, _| point.modified_lines == point.section_lines,
        of: rounds,
        is_most: true,
    },
    Figure {
        name: "cycles a round, all of the section modified, most",
        told: "< 1",
        experiment: INVALIDATION,
        is_of: |point, _| point.modified_lines == point.section_lines,
        of: cycles,
        is_most: true,
    },
];

fn rounds(rates: &Rates) -> f64 {
    rates.rounds
}

fn cycles(rates: &Rates) -> f64 {
    rates.cycles_per_round
}

impl Figure {
    /// Returns the same figure from the results of this way and the lock; `None` without such
    /// points.
    pub fn of(
        &self,
        way: Way,
        experiments: &[Experiment],
        rates: &[Vec<Vec<Rates>>],
    ) -> Option<f64> {
        let mut both = experiments.iter().zip(rates);
        let (experiment, rates) = both.find(|(of, _)| of.name == self.experiment)?;
        let place = |way| experiment.ways.iter().position(|&other| other == way);
        let (own, lock) = (place(way)?, place(Way::Lock)?);
        let l1d_lines = experiment.points.first()?.local_lines / 2;
        let points = experiment.points.iter().zip(rates);
        let points = points.filter(|(point, _)| (self.is_of)(point, l1d_lines));
        let ratios = points.map(|(_, rates)| (self.of)(&rates[own]) / (self.of)(&rates[lock]));
        match self.is_most {
            true => ratios.reduce(f64::max),
            false => ratios.reduce(f64::min),
        }
    }
}
