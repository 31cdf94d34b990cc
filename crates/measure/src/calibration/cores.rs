//! Latency between cores, and which CPUs are near each other, as reported and as measured.
//!
//! The kernel reports which CPUs are hardware threads of one core. In a virtual machine, the
//! hypervisor may invent that. So the CPUs of each pair pass a word to and fro. If that takes less
//! time than the L3, the word stays in the caches below it, and the two CPUs share a core or an L2.

use crate::calibration::clock::{core_ghz, nanoseconds_of};
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::native::modified_lines::ModifiedLines;
use crate::calibration::observer::{Observer, step};
use crate::calibration::orders;
use crate::calibration::samples::{Figure, Quartiles, Readings};
use crate::calibration::turns::between;
use corehop_support::topology::Topology;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Round trips per repetition.
const QUESTIONS: u32 = 200;
/// Lines that one CPU writes and the other reads. They fit every L1D and, with a page each, every
/// first-level TLB.
const LINES: u32 = 64;
/// Up to this number of CPUs, all pairs are measured; above it, each CPU with the first one.
const ALL_PAIRS_UP_TO: usize = 16;

/// Two CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Their numbers.
    pub cpus: [usize; 2],
    /// One-way latency of a word, in nanoseconds: half of a round trip.
    pub word_ns: Quartiles,
    /// Whether the kernel reports them as hardware threads of one core.
    pub told_same_core: Option<bool>,
    /// Whether the kernel reports that they share an L2.
    pub told_same_l2: Option<bool>,
    /// Whether a word takes less time than the L3, so that they share a core or an L2; `None` if
    /// the L3's latency is unknown.
    pub is_near: Option<bool>,
}

impl Pair {
    /// Whether the kernel's report and the measurement contradict each other.
    pub fn is_contradicted(&self) -> bool {
        let told = match (self.told_same_core, self.told_same_l2) {
            (None, None) => return false,
            (core, second) => core == Some(true) || second == Some(true),
        };
        self.is_near.is_some_and(|near| near != told)
    }
}

/// Passes a word between the CPUs of each pair. `l3_ns` is the L3's latency.
pub fn pairs(
    topology: &Topology,
    cpus: &[usize],
    l3_ns: Option<f64>,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Vec<Pair>, Error> {
    let chosen = chosen(cpus);
    observer.begin("pairs of CPUs measured", chosen.len() as u64);
    let mut pairs = Vec::new();
    for cpus in chosen {
        let word_ns = word(cpus, effort.pair_repetitions)?;
        pairs.push(Pair {
            cpus,
            word_ns,
            told_same_core: topology.share_a_core(cpus),
            told_same_l2: topology.share_an_l2(cpus),
            is_near: l3_ns.map(|l3| word_ns.median < l3),
        });
        step(observer)?;
    }
    observer.end();
    Ok(pairs)
}

/// Selects the pairs to measure.
fn chosen(cpus: &[usize]) -> Vec<[usize; 2]> {
    let firsts = match cpus.len() > ALL_PAIRS_UP_TO {
        true => 1,
        false => cpus.len(),
    };
    let with = |(index, &first): (usize, &usize)| {
        let others = cpus[index + 1..].iter();
        others.map(move |&second| [first, second])
    };
    cpus.iter()
        .take(firsts)
        .enumerate()
        .flat_map(with)
        .collect()
}

fn word(cpus: [usize; 2], repetitions: u32) -> Result<Quartiles, Error> {
    let readings = between(
        cpus,
        || (),
        |asking| {
            let all = || (0..QUESTIONS).for_each(|_| asking.ask());
            all();
            let repetition = |_| nanoseconds_of(all) / f64::from(2 * QUESTIONS);
            (0..repetitions).map(repetition).collect::<Vec<f64>>()
        },
    )?;
    Ok(Quartiles::of(&readings).expect("a repetition at least"))
}

/// Measures a load of a line that is modified in the other CPU's caches.
pub fn transfer(cpus: [usize; 2], effort: &Effort) -> Result<Option<Figure>, Error> {
    let mut random = ChaCha8Rng::seed_from_u64(LINES.into());
    let lines = ModifiedLines::new(&orders::random(LINES, &mut random));
    let readings = between(
        cpus,
        || lines.modify(),
        |asking| {
            let mut readings = Readings::default();
            for _ in 0..effort.pair_repetitions {
                let ghz = core_ghz();
                asking.ask();
                let ns = nanoseconds_of(|| lines.read()) / lines.count() as f64;
                readings.push(ns, ghz);
            }
            readings
        },
    )?;
    Ok(readings.figure())
}

/// Measures within milliseconds, in cycles, a load of a line that is modified in the other CPU's
/// caches. `None` if there is no figure. In a virtual machine, the value changes when the
/// hypervisor moves the CPUs.
///
/// # Errors
/// The system error if a thread cannot be pinned to a CPU.
pub fn transfer_cycles(cpus: [usize; 2]) -> Result<Option<f64>, Error> {
    Ok(transfer(cpus, &Effort::WHOLE)?.map(|figure| figure.cycles.median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_of_few_cpus_are_measured_and_of_many_those_with_the_first() {
        assert_eq!(chosen(&[0, 2, 5]), [[0, 2], [0, 5], [2, 5]]);
        assert_eq!(chosen(&[4]), [[0; 2]; 0]);
        let many: Vec<usize> = (0..20).collect();
        let chosen = chosen(&many);
        assert_eq!(chosen.len(), 19);
        assert!(chosen.iter().all(|pair| pair[0] == 0));
    }

    #[test]
    fn what_is_told_and_what_is_measured_are_compared() {
        let quartiles = Quartiles::of(&[50.0]).unwrap();
        let pair = |told_same_core, told_same_l2, is_near| Pair {
            cpus: [0, 1],
            word_ns: quartiles,
            told_same_core,
            told_same_l2,
            is_near,
        };
        let (yes, no) = (Some(true), Some(false));
        assert!(!pair(no, no, no).is_contradicted());
        assert!(!pair(no, yes, yes).is_contradicted());
        assert!(!pair(yes, None, yes).is_contradicted());
        assert!(
            pair(no, no, yes).is_contradicted(),
            "hardware threads reported as cores"
        );
        assert!(pair(yes, yes, no).is_contradicted());
        assert!(!pair(None, None, yes).is_contradicted());
        assert!(!pair(no, no, None).is_contradicted());
    }
}
