//! Cost of a hop: with each backend, to an awake core, to a sleeping core, and with threads that
//! queue for both cores.
//!
//! The hop of a single thread is timed there and back. With queueing threads, no CPU is woken and
//! one interrupt serves many hops. Their cost is both CPUs' time per hop of several threads that do
//! nothing else. Rejected: a hop to a CPU that a lowest-priority thread keeps from halting. It
//! takes an interrupt and a switch for a single hop, twice the cost of a hop among many. The trials
//! alternate, round by round, so that other load affects all of them alike.

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

/// Cost of a hop, one way; `None` if it could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hops {
    /// To a worker thread that spins.
    pub carrier_awake: Option<Figure>,
    /// To a worker thread that sleeps.
    pub carrier_parked: Option<Figure>,
    /// By `sched_setaffinity`, to a CPU that the thread has just left.
    pub affinity_awake: Option<Figure>,
    /// By `sched_setaffinity`, with threads that queue for the CPU.
    pub affinity_busy: Option<Figure>,
    /// By `sched_setaffinity`, to a CPU that has been idle for 200 us.
    pub affinity_parked: Option<Figure>,
    /// By `sched_setaffinity`, to a CPU that has been idle for longer and longer.
    pub affinity_idle: Vec<AfterIdle>,
}

/// Cost of hops to a CPU that has been idle for some time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AfterIdle {
    /// That time in microseconds.
    pub idle_us: u32,
    /// The same in cycles.
    pub idle_cycles: f64,
    /// Mean of hops, without the shortest and the longest hundredth. Their distribution has a long
    /// tail, and a server waits for all of them.
    pub mean_cycles: f64,
}

/// Puts what was measured in its place; false if that is nothing.
type Put = Box<dyn Fn(&mut Hops, &Readings) -> bool>;

/// A kind of hop, and how the program makes it.
struct Trial {
    put: Put,
    backend: &'static str,
    words: Vec<String>,
    variables: &'static [(&'static str, &'static str)],
    /// Converts a printed value to nanoseconds per hop.
    to_ns: fn(f64) -> f64,
    readings: Readings,
}

/// Makes a worker thread sleep after 50 us, before the program comes back.
const SLEEPS_SOON: &[(&str, &str)] = &[("COREHOP_SPIN_US", "50")];
/// Enough threads to queue for both CPUs all the time, and as few as a server's workers.
const QUEUING_THREADS: u32 = 8;

/// The longer a CPU is idle, the deeper it sleeps.
const IDLE_US: [u32; 3] = [200, 1000, 5000];

/// Puts the quartiles in this place.
fn figure(slot: fn(&mut Hops) -> &mut Option<Figure>) -> Put {
    Box::new(move |all, readings| {
        *slot(all) = readings.figure();
        slot(all).is_some()
    })
}

/// Adds a point of the curve. The quartiles of the first one are also kept.
fn after_idle(idle_us: u32) -> Put {
    Box::new(move |all, readings| {
        if idle_us == IDLE_US[0] {
            all.affinity_parked = readings.figure();
        }
        let point = readings.trimmed_mean_cycles().map(|mean_cycles| AfterIdle {
            idle_us,
            idle_cycles: f64::from(idle_us) * 1000.0 * readings.ghz(),
            mean_cycles,
        });
        all.affinity_idle.extend(point);
        point.is_some()
    })
}

fn trials(effort: &Effort, has_carriers: bool) -> Vec<Trial> {
    let samples = effort.hop_samples;
    let trial = |put, backend, word: &str, samples: u32, variables| Trial {
        put,
        backend,
        words: vec![word.to_owned(), samples.max(1).to_string()],
        variables,
        to_ns: |ns| ns,
        readings: Readings::default(),
    };
    let (some, few) = (samples / 4, samples / 10);
    let mut trials = vec![
        trial(
            figure(|all| &mut all.affinity_awake),
            "affinity",
            "hop",
            some,
            &[][..],
        ),
        Trial {
            put: figure(|all| &mut all.affinity_busy),
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
    // Each takes about as long.
    trials.extend(IDLE_US.map(|idle_us| {
        let samples = few * IDLE_US[0] / idle_us;
        let mut trial = trial(after_idle(idle_us), "affinity", "parked", samples, &[]);
        trial.words.push(idle_us.to_string());
        trial
    }));
    if has_carriers {
        trials.extend([
            trial(
                figure(|all| &mut all.carrier_awake),
                "carrier",
                "hop",
                samples,
                &[],
            ),
            trial(
                figure(|all| &mut all.carrier_parked),
                "carrier",
                "parked",
                few,
                SLEEPS_SOON,
            ),
        ]);
    }
    trials
}

/// Measures hops between the first two CPUs on different cores. Also returns what could not be
/// measured.
pub fn measure(effort: &Effort, observer: &dyn Observer) -> Result<(Hops, Vec<String>), Error> {
    if effort.hop_rounds == 0 {
        return Ok((Hops::default(), Vec::new()));
    }
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
            // An interval without any hop gives no finite duration.
            let readings = readings.filter(|ns| ns.is_finite());
            readings.for_each(|ns| trial.readings.push(ns, ghz));
        }
    }
    observer.end();
    let mut hops = Hops::default();
    for trial in &trials {
        if !(trial.put)(&mut hops, &trial.readings) {
            let words = trial.words.join(" ");
            left_out.push(format!(
                "hops by {} ({words}): no thread hopped in time; calibrate again while the machine \
                 does nothing else",
                trial.backend
            ));
        }
    }
    Ok((hops, left_out))
}
