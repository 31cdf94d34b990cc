//! The cost of a hop by distance: hardware threads of one core, cores of one L3, other L3, other
//! node.
//!
//! One pair of CPUs stands for each distance. The trials of all distances alternate, round by
//! round, so that other load affects all of them. The program is that of `corehop calibrate`.

use super::{Here, report, time};
use crate::Outcome;
use corehop_measure::calibration::patched::Program;
use corehop_measure::calibration::samples::quartiles;
use corehop_measure::machine::cpus::can_carry;
use corehop_plan::Mode;
use corehop_support::topology::Distance;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
/// Makes a worker thread sleep after 50 us, before the program comes back.
const SLEEPS_SOON: &[(&str, &str)] = &[("COREHOP_SPIN_US", "50")];

/// What is timed between two CPUs.
struct Trial {
    key: &'static str,
    title: &'static str,
    /// The backend; none for the program without hops.
    backend: Option<&'static str>,
    word: &'static str,
    samples: u32,
    variables: &'static [(&'static str, &'static str)],
}

const TRIALS: [Trial; 4] = [
    Trial {
        key: "word_ns",
        title: "word",
        backend: None,
        word: "word",
        samples: 2000,
        variables: &[],
    },
    Trial {
        key: "carrier_hop_ns",
        title: "carrier",
        backend: Some("carrier"),
        word: "hop",
        samples: 2000,
        variables: &[],
    },
    Trial {
        key: "parked_hop_ns",
        title: "carrier asleep",
        backend: Some("carrier"),
        word: "parked",
        samples: 100,
        variables: SLEEPS_SOON,
    },
    Trial {
        key: "affinity_hop_ns",
        title: "affinity",
        backend: Some("affinity"),
        word: "hop",
        samples: 400,
        variables: &[],
    },
];

/// The pair of a distance, with the samples of each trial.
struct Pair {
    distance: Distance,
    cpus: Result<[usize; 2], String>,
    samples: [Vec<f64>; TRIALS.len()],
    reasons: [Option<String>; TRIALS.len()],
}

/// Times hops until the deadline, one round at least.
pub fn measure(here: &Here, deadline: Instant, is_brief: bool) -> Outcome<()> {
    let mut program = Program::hop(Mode::Enter)?;
    let mut pairs = Distance::ALL.map(|distance| Pair {
        distance,
        cpus: here
            .topology
            .pair(&here.cpus, distance)
            .map_err(|reason| reason.to_string()),
        samples: Default::default(),
        reasons: Default::default(),
    });
    publish(&pairs);
    let mut took = Duration::ZERO;
    let rounds = if is_brief { 1 } else { ROUNDS };
    for round in 0..rounds {
        if time::is_over() || (round > 0 && Instant::now() + took > deadline) {
            break;
        }
        let began = Instant::now();
        eprintln!("hops: round {} of at most {rounds}", round + 1);
        for pair in &mut pairs {
            pair.measure(&mut program);
        }
        if !time::is_over() {
            publish(&pairs);
        }
        took = began.elapsed();
    }
    Ok(())
}

impl Pair {
    fn measure(&mut self, program: &mut Program) {
        let Ok(cpus) = self.cpus else {
            return;
        };
        program.processors = cpus;
        let all = self.samples.iter_mut().zip(&mut self.reasons);
        for (trial, (samples, reason)) in TRIALS.iter().zip(all) {
            if trial.backend == Some("carrier") && !can_carry() {
                *reason = Some("not possible here, as `corehop doctor` says".into());
                continue;
            }
            let [first, second] = cpus;
            let mut words = vec![trial.word.to_owned(), trial.samples.to_string()];
            if trial.backend.is_none() {
                words.extend([first, second].map(|cpu| cpu.to_string()));
            }
            match program.run_in(trial.variables, trial.backend, &words) {
                Ok(values) => samples.extend(values),
                // Ctrl-C reaches the program too.
                Err(_) if time::is_over() => return,
                Err(error) => *reason = Some(error.to_string()),
            }
        }
    }

    fn json(&self) -> Value {
        let mut object = json!({
            "distance": self.distance.name(), "cpus": self.cpus.as_ref().ok(),
            "reason": self.cpus.as_ref().err(),
        });
        let all = self.samples.iter().zip(&self.reasons);
        for (trial, (samples, reason)) in TRIALS.iter().zip(all) {
            let is_measured = reason.is_none() && !samples.is_empty();
            object[trial.key] = json!(is_measured.then(|| quartiles(samples)));
        }
        let reasons = self.reasons.iter().flatten().collect::<Vec<_>>();
        object["failed"] = json!(reasons);
        object
    }

    fn text(&self) -> String {
        let name = self.distance.name();
        let cpus = match &self.cpus {
            Ok([first, second]) => format!("{first} and {second}"),
            Err(reason) => return format!("{name:<14}{reason}"),
        };
        let mut line = format!("{name:<14}{cpus:<14}");
        for samples in &self.samples {
            let median = match samples.is_empty() {
                true => "-".into(),
                false => format!("{:.0}", quartiles(samples)[1]),
            };
            line += &format!("{median:>16}");
        }
        line
    }
}

fn publish(pairs: &[Pair]) {
    let mut head = format!("{:<14}{:<14}", "ns, median", "CPUs");
    for trial in &TRIALS {
        head += &format!("{:>16}", trial.title);
    }
    let lines: Vec<String> = [head]
        .into_iter()
        .chain(pairs.iter().map(Pair::text))
        .collect();
    let json = pairs.iter().map(Pair::json).collect::<Vec<_>>();
    report::publish("hops", json!(json), lines.join("\n"));
}
