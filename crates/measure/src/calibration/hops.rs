//! What a hop costs: by each backend, to a core that is awake, to one that sleeps, and where
//! threads queue for both cores.
//!
//! One thread's hop is timed there and back. Where threads queue, no CPU is woken and many hops
//! come with one interrupt: their cost is the time of both CPUs for each hop of several threads
//! that do nothing else. Rejected: a hop to a CPU that a thread of the lowest priority keeps from
//! halting. It is an interrupt and a switch for one hop alone, twice what a hop among many takes.
//! The trials take turns, round after round, so that what else the machine does falls on all alike.

use crate::calibration::clock::core_ghz;
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::observer::{Observer, step};
use crate::calibration::patched::Program;
use crate::calibration::pinned::on;
use crate::calibration::samples::{Figure, Readings};
use crate::machine::cpus::can_carry;
use corehop_plan::Mode;
use serde::Serialize;

/// One way each; `None` of what could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hops {
    /// To a carrier that waits awake.
    pub carrier_awake: Option<Figure>,
    /// To a carrier that sleeps.
    pub carrier_parked: Option<Figure>,
    /// By `sched_setaffinity`, to a CPU that was just left.
    pub affinity_awake: Option<Figure>,
    /// By `sched_setaffinity`, where threads queue for the CPU.
    pub affinity_busy: Option<Figure>,
    /// By `sched_setaffinity`, to a CPU that has had nothing to do for 200 us.
    pub affinity_parked: Option<Figure>,
}

/// A kind of hop, and how the program makes it.
struct Trial {
    slot: fn(&mut Hops) -> &mut Option<Figure>,
    backend: &'static str,
    words: Vec<String>,
    variables: &'static [(&'static str, &'static str)],
    /// What is printed, as nanoseconds of a hop.
    to_ns: fn(f64) -> f64,
    readings: Readings,
}

/// Has a carrier sleep after 50 us, sooner than the program comes back.
const SLEEPS_SOON: &[(&str, &str)] = &[("COREHOP_SPIN_US", "50")];
/// So many that threads queue for both CPUs all the time, and as few as servers have workers.
const QUEUING_THREADS: u32 = 8;

fn trials(effort: &Effort, has_carriers: bool) -> Vec<Trial> {
    let samples = effort.hop_samples;
    let trial = |slot, backend, word: &str, samples: u32, variables| Trial {
        slot,
        backend,
        words: vec![word.to_owned(), samples.max(1).to_string()],
        variables,
        to_ns: |ns| ns,
        readings: Readings::default(),
    };
    let (some, few) = (samples / 4, samples / 10);
    let mut trials = vec![
        trial(
            |all: &mut Hops| &mut all.affinity_awake,
            "affinity",
            "hop",
            some,
            &[][..],
        ),
        trial(
            |all: &mut Hops| &mut all.affinity_parked,
            "affinity",
            "parked",
            few,
            &[],
        ),
        Trial {
            slot: |all: &mut Hops| &mut all.affinity_busy,
            backend: "affinity",
            words: ["many", "1"]
                .map(str::to_owned)
                .into_iter()
                .chain([QUEUING_THREADS, effort.queuing_ms].map(|number| number.to_string()))
                .collect(),
            variables: &[],
            to_ns: |hops_per_second| 2.0 * 1e9 / hops_per_second,
            readings: Readings::default(),
        },
    ];
    if has_carriers {
        trials.extend([
            trial(
                |all: &mut Hops| &mut all.carrier_awake,
                "carrier",
                "hop",
                samples,
                &[],
            ),
            trial(
                |all: &mut Hops| &mut all.carrier_parked,
                "carrier",
                "parked",
                few,
                SLEEPS_SOON,
            ),
        ]);
    }
    trials
}

/// Hops between the first two CPUs that are not one core, and what could not be measured.
pub fn measure(effort: &Effort, observer: &dyn Observer) -> Result<(Hops, Vec<String>), Error> {
    let program = Program::hop(Mode::Enter)?;
    let [first, second] = program.processors;
    let mut left_out = Vec::new();
    if first == second {
        left_out.push("hops: there is one CPU, or one core, so nothing can hop".into());
        return Ok((Hops::default(), left_out));
    }
    if !can_carry() {
        left_out.push("hops by carrier: not possible here, as `corehop doctor` says".into());
    }
    let mut trials = trials(effort, can_carry());
    observer.begin(
        "measurements of hops made",
        effort.hop_rounds * trials.len() as u64,
    );
    for _ in 0..effort.hop_rounds {
        for trial in &mut trials {
            let ghz = on(first, || Ok(core_ghz()))?;
            let printed = program.run_in(trial.variables, Some(trial.backend), &trial.words);
            // Ctrl-C reaches the program too.
            step(observer)?;
            let readings = printed?.into_iter().map(trial.to_ns);
            // In a time in which nobody hopped, a hop takes as long as no number says.
            let readings = readings.filter(|ns| ns.is_finite());
            readings.for_each(|ns| trial.readings.push(ns, ghz));
        }
    }
    observer.end();
    let mut hops = Hops::default();
    for trial in &trials {
        let figure = trial.readings.figure();
        if figure.is_none() {
            let words = trial.words.join(" ");
            left_out.push(format!(
                "hops by {} ({words}): no thread hopped in time; calibrate again while the machine \
                 does nothing else",
                trial.backend
            ));
        }
        *(trial.slot)(&mut hops) = figure;
    }
    Ok((hops, left_out))
}
