//! What a hop costs: by each backend, to a core that is awake, to one that sleeps, to one that has
//! something else to do.
//!
//! The trials take turns, round after round, so that what else the machine does falls on all alike.

use crate::clock::core_ghz;
use crate::effort::Effort;
use crate::error::Error;
use crate::observer::{Observer, step};
use crate::patched::Program;
use crate::pinned::on;
use crate::samples::{Figure, Readings};
use corehop_measurer::machine::cpus::can_carry;
use corehop_plans::Mode;
use corehop_processes::Awake;
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
    /// By `sched_setaffinity`, to a CPU that has something else to do.
    pub affinity_busy: Option<Figure>,
    /// By `sched_setaffinity`, to a CPU that has had nothing to do for 200 us.
    pub affinity_parked: Option<Figure>,
}

/// A kind of hop, and how the program makes it.
struct Trial {
    slot: fn(&mut Hops) -> &mut Option<Figure>,
    backend: &'static str,
    word: &'static str,
    samples: u32,
    variables: &'static [(&'static str, &'static str)],
    readings: Readings,
}

/// Has a carrier sleep after 50 us, sooner than the program comes back.
const SLEEPS_SOON: &[(&str, &str)] = &[("COREHOP_SPIN_US", "50")];

fn trials(samples: u32, has_carriers: bool) -> Vec<Trial> {
    let trial = |slot, backend, word, samples: u32, variables| Trial {
        slot,
        backend,
        word,
        samples: samples.max(1),
        variables,
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
    let mut trials = trials(effort.hop_samples, can_carry());
    observer.begin("hops", effort.hop_rounds * trials.len() as u64);
    for _ in 0..effort.hop_rounds {
        for trial in &mut trials {
            let ghz = on(first, || Ok(core_ghz()))?;
            let words = [trial.word.to_owned(), trial.samples.to_string()];
            let printed = program.run_in(trial.variables, Some(trial.backend), &words);
            // Ctrl-C reaches the program too.
            step(observer)?;
            printed?.iter().for_each(|&ns| trial.readings.push(ns, ghz));
        }
    }
    observer.end();
    let mut hops = Hops::default();
    for trial in &trials {
        *(trial.slot)(&mut hops) = trial.readings.figure();
    }
    Ok((hops, left_out))
}

/// A hop by `sched_setaffinity` to a CPU that has something else to do; `None` where none can be
/// made, or the kernel lets no thread have the lowest priority.
pub fn to_busy(effort: &Effort, observer: &dyn Observer) -> Result<Option<Figure>, Error> {
    let Ok(program) = Program::hop(Mode::Enter) else {
        return Ok(None);
    };
    let [first, second] = program.processors;
    if first == second {
        return Ok(None);
    }
    let words = [
        "hop".to_owned(),
        (effort.hop_samples / 4).max(1).to_string(),
    ];
    let mut readings = Readings::default();
    observer.begin("hops to busy CPUs", effort.hop_rounds);
    for _ in 0..effort.hop_rounds {
        let ghz = on(first, || Ok(core_ghz()))?;
        let Ok(busy) = Awake::keep() else {
            return Ok(None);
        };
        let printed = program.run_in(&[], Some("affinity"), &words);
        drop(busy);
        step(observer)?;
        printed?.iter().for_each(|&ns| readings.push(ns, ghz));
    }
    observer.end();
    Ok(readings.figure())
}
