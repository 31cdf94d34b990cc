//! The second stage: selects the few plans that are worth measuring here.
//!
//! For each number of cores, one split minimizes L2 misses, which hops should save, and one
//! minimizes cycles, which include the cost of a hop here. They differ if a split hops more often
//! than it gains. If the trace has arguments, there is also a best function by argument for each
//! objective. All are evaluated on held-out requests, and the best by cycles come first. Several
//! searches often find the same plan, which is kept once. At least one plan of each kind is kept,
//! if there is room. Timed replays then tell how fast each is expected to be.

use crate::commands::calibrate::Shown;
use crate::failure::Failure;
use crate::one_way;
use crate::options::machines;
use crate::terminal::progress::Bar;
use crate::terminal::{console, interrupt};
use corehop_measure::calibration::{self, Effort, calibrate, doubts, render};
use corehop_measure::machine::cpus::can_carry;
use corehop_measure::rounds::Assumption;
use corehop_partitioner::by_argument::{self, Sought};
use corehop_partitioner::delegation::Delegate;
use corehop_partitioner::expected::{self, Speedup};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::progress;
use corehop_partitioner::requests::{Searched, complete};
use corehop_partitioner::weights::Weighted;
use corehop_partitioner::{Comparison, Error, Settings, partition, plan};
use corehop_plan::{Destination, Mode, Plan};
use corehop_simulator::host::{self, Host};
use corehop_simulator::timing::PrefetcherName;
use corehop_simulator::{Machine, Split};
use corehop_support::topology::{Topology, allowed};
use corehop_traces::{FunctionId, Trace};
use std::path::Path;

/// Maximum number of cores of a split: larger searches take longer, and shorter phases of a request
/// do not fill an L2.
const MOST_CORES: u32 = 8;

/// Number of requests to search on; the others are for evaluation.
const SEARCHED: usize = 10;

/// The machine for which plans are searched.
pub struct Here {
    pub machine: Machine,
    /// This machine, if its latencies are assumed because nobody has calibrated it.
    uncalibrated: Option<Host>,
    /// Maximum number of cores to hop between.
    pub cores: u32,
    /// Whether this process may also run on cores of another type.
    has_other_cores: bool,
}

/// Returns the number of physical cores that this process may run on, and how many of them belong
/// to the machine of that name.
fn cores(named: &str) -> [u32; 2] {
    let (topology, allowed) = (Topology::here(), allowed());
    let all = topology.cores(allowed.iter().copied());
    let host = (named == "host").then(|| host::read(&topology, &allowed));
    let alike = host.and_then(Result::ok).map_or(all, |host| {
        let alike = allowed.into_iter().filter(|cpu| host.cpus.contains(cpu));
        topology.cores(alike).max(1)
    });
    [all as u32, alike as u32]
}

/// Sets the cost of hops that the fastest backend here has.
fn with_usual_hops(mut machine: Machine) -> Machine {
    if can_carry() {
        machine.set_hop_cost(machine.carried_hop_cycles());
    }
    machine
}

impl Here {
    /// Reads the machine `named`.
    pub fn look(named: &str, most_cores: u32) -> Result<Here, Failure> {
        let uncalibrated = machines::tell_host([named]);
        let machine = Machine::named_or_path(named)?;
        let [all, alike] = cores(named);
        let cores = alike.min(machine.cores).min(most_cores).min(MOST_CORES);
        Ok(Here {
            machine: with_usual_hops(machine),
            uncalibrated,
            cores,
            has_other_cores: all > alike,
        })
    }

    /// Measures the latencies of this machine, unless it is calibrated. Returns the machine file.
    /// If the measurement fails, they remain assumed.
    pub fn measure_latencies(&mut self) -> Result<Option<String>, Failure> {
        let Some(host) = &self.uncalibrated else {
            return Ok(None);
        };
        match calibrate(host, &Effort::LATENCIES, &Shown(Bar::new())) {
            Ok(measured) => {
                self.machine = with_usual_hops(measured.machine());
                Ok(Some(render(&measured, &doubts(&measured))))
            }
            Err(calibration::Error::Interrupted) => Err(interrupt::failure("nothing was recorded")),
            Err(error) => {
                console::warn(&format!("machine host: its latencies are assumed: {error}"));
                Ok(None)
            }
        }
    }

    /// Returns the machine's latencies as text.
    pub fn latencies(&self) -> String {
        let machine = &self.machine;
        let l3 = machine.l3.map(|l3| format!(", L3 {}", l3.latency_cycles));
        format!(
            "L2 {}{}, memory {} cycles",
            machine.l2.latency_cycles,
            l3.unwrap_or_default(),
            machine.memory_latency_cycles
        )
    }

    /// Returns why no plan can be used here, if so.
    pub fn why_no_hops(&self) -> Option<&'static str> {
        let why = match self.has_other_cores {
            false => "there is one physical core to run on, and none to hop to",
            true => {
                "no other core to run on has the same caches and L3, so there is none to hop to"
            }
        };
        (self.cores < 2).then_some(why)
    }
}

/// A plan and its prediction by a replay.
pub struct Predicted {
    pub plan: Plan,
    /// As multiples of those on one core.
    pub l2_misses_ratio: f64,
    pub cycles_ratio: f64,
    pub hops_per_request: f64,
    /// The throughput as a multiple of that without the plan, by timed replays; `None` without any.
    pub speedup: Option<Speedup>,
}

impl Predicted {
    fn new(plan: Plan, judged: &Comparison) -> Predicted {
        let ratio = |objective| judged.ratio(objective).unwrap_or(1.0);
        Predicted {
            plan,
            l2_misses_ratio: ratio(Objective::L2),
            cycles_ratio: ratio(Objective::Cycles),
            hops_per_request: judged.hops as f64 / judged.requests.max(1) as f64,
            speedup: None,
        }
    }

    /// Returns whether a replay predicts a gain.
    pub fn is_promising(&self) -> bool {
        let is_faster = self.speedup.is_some_and(|speedup| speedup.high > 1.0);
        self.l2_misses_ratio < 1.0 || self.cycles_ratio < 1.0 || is_faster
    }
}

/// The result of all searches.
pub struct Found {
    /// The best prediction first.
    pub plans: Vec<Predicted>,
    /// Why there is no plan, if there is none.
    pub none: Option<String>,
}

/// Returns up to `most` of the best plans for a recorded server.
pub fn plans(trace: &Trace, path: &Path, here: &Here, most: usize) -> Result<Found, Failure> {
    if let Some(why) = here.why_no_hops() {
        return Ok(Found {
            plans: Vec::new(),
            none: Some(why.into()),
        });
    }
    let one_way: Vec<FunctionId> = one_way::known(trace).into_iter().map(|of| of.0).collect();
    let machines = [Weighted {
        machine: here.machine.clone(),
        weight: 1.0,
    }];
    let trace_name = path.display().to_string();
    let searched = complete(trace.requests()).len().div_ceil(2).min(SEARCHED);
    let mut found = Found {
        plans: Vec::new(),
        none: None,
    };
    let settings = |(cores, (objective, delegate)): (u32, Aim)| Settings {
        cores,
        functions: cores,
        searched: Searched::Sample(searched.max(1)),
        objective,
        delegate,
        one_way: &one_way,
        ..Settings::default()
    };
    for asked in asked(here.cores, BY_FUNCTION) {
        found.search((trace, &trace_name), &machines, &settings(asked))?;
    }
    let by_argument = by_argument(trace, &trace_name, &machines[0], (here.cores, searched))?;
    by_argument.into_iter().for_each(|plan| found.add(plan));
    found.plans = kept(found.plans, most);
    expect(&mut found.plans, trace, &here.machine)?;
    Ok(found)
}

/// Adds the expected speedups, and puts the fastest plan first.
fn expect(plans: &mut [Predicted], trace: &Trace, machine: &Machine) -> Result<(), Failure> {
    let splits = plans.iter().map(|of| Split::of_plan(&of.plan, trace));
    let splits: Vec<Split> = splits.collect::<Result<_, _>>()?;
    let splits: Vec<&Split> = splits.iter().collect();
    // Papers simulate the bundled machines without prefetchers.
    let prefetcher = match machine.name.as_str() {
        "host" => expected::OF_HOSTS,
        _ => PrefetcherName::None,
    };
    let on = (machine, prefetcher);
    let bar = Bar::new();
    let stage = ("timed replays made", expected::replays(splits.len()));
    let speedups = progress::stage(&bar, stage, |tell| {
        expected::speedups(trace, on, &splits, tell)
    });
    let speedups = match speedups {
        // A trace without threads that serve whole requests has no throughput.
        Err(Error::Timed(_)) => None,
        other => other?,
    };
    for (plan, speedup) in plans.iter_mut().zip(speedups.into_iter().flatten()) {
        plan.speedup = Some(speedup);
    }
    let slowness = |of: &Predicted| of.speedup.map_or(of.cycles_ratio, |by| 1.0 / by.median);
    plans.sort_by(|one, other| slowness(one).total_cmp(&slowness(other)));
    Ok(())
}

/// Returns up to `most` plans, the best prediction first: the best of each kind, then the best of
/// all. Replays of one kind may share an error, for example if requests call a function in another
/// order.
fn kept(mut plans: Vec<Predicted>, most: usize) -> Vec<Predicted> {
    plans.sort_by(|one, other| one.cycles_ratio.total_cmp(&other.cycles_ratio));
    let mut seen = Vec::new();
    let (firsts, others): (Vec<_>, Vec<_>) = plans.into_iter().partition(|predicted| {
        let kind = Assumption::of(&predicted.plan);
        let is_first = !seen.contains(&kind);
        seen.push(kind);
        is_first
    });
    let mut kept: Vec<Predicted> = firsts.into_iter().chain(others).take(most).collect();
    kept.sort_by(|one, other| one.cycles_ratio.total_cmp(&other.cycles_ratio));
    kept
}

/// Returns the plans of functions whose core depends on an argument. Returns none if the trace has
/// no arguments, or no argument that points to one of several objects.
fn by_argument(
    trace: &Trace,
    trace_name: &str,
    machine: &Weighted,
    (cores, searched): (u32, usize),
) -> Result<Vec<Predicted>, Failure> {
    if !trace.has_pointers() {
        return Ok(Vec::new());
    }
    let Settings { seed, rule, .. } = Settings::default();
    let sought = Sought {
        cores,
        searched: Searched::Sample(searched.max(1)),
        seed,
        min_share: rule.min_share,
    };
    let objectives = [Objective::L2, Objective::Cycles];
    let found = by_argument::search(trace, machine, &sought, &objectives, &Bar::new())?;
    let named = (&*machine.machine.name, seed);
    let predicted = |found: &by_argument::Found| {
        let plan = by_argument::plan_of(found, trace, trace_name, named);
        Predicted::new(plan, found.verdict())
    };
    Ok(found.iter().map(predicted).collect())
}

/// What to minimize, and whether threads may migrate back.
type Aim = (Objective, Delegate);

const BY_FUNCTION: [Aim; 2] = [
    (Objective::L2, Delegate::Never),
    (Objective::Cycles, Delegate::Take),
];

/// Returns the numbers of cores and objectives to search for.
fn asked(most_cores: u32, aims: [Aim; 2]) -> impl Iterator<Item = (u32, Aim)> {
    (2..=most_cores).flat_map(move |cores| aims.into_iter().map(move |aim| (cores, aim)))
}

impl Found {
    /// Searches once, and adds the plan or why there is none.
    fn search(
        &mut self,
        (trace, trace_name): (&Trace, &str),
        machines: &[Weighted],
        settings: &Settings<'_>,
    ) -> Result<(), Failure> {
        let cores = settings.cores;
        let outcome = match partition(trace, machines, settings, &Bar::new()) {
            Err(error @ Error::NonePatchable { .. }) => {
                self.none.get_or_insert_with(|| error.to_string());
                return Ok(());
            }
            Err(Error::TooFewCandidates { found: few, .. }) => {
                self.none.get_or_insert_with(|| {
                    format!(
                        "{few} groups of functions are called once in nearly every request, and a \
                         plan needs {cores}: a function that each request enters once, as \
                         --request-at, may show more"
                    )
                });
                return Ok(());
            }
            other => other?,
        };
        let plan = plan::of(&plan::SearchResult {
            machines,
            trace_name,
            trace,
            settings,
            outcome: &outcome,
        });
        self.add(Predicted::new(plan, outcome.evaluated.verdict()));
        Ok(())
    }

    /// Adds a plan, unless a plan with the same hops is there.
    fn add(&mut self, new: Predicted) {
        let hops = |of: &Predicted| -> Vec<(String, u64, Destination, Mode)> {
            let functions = of.plan.functions.iter();
            let placed = functions.map(|f| (f.module.clone(), f.offset, f.to, f.mode));
            placed.collect()
        };
        if !self.plans.iter().any(|known| hops(known) == hops(&new)) {
            self.plans.push(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_plan::{Argument, By, PlannedFunction, VERSION_BY_ARGUMENT};

    const CORE: Destination = Destination::Core(1);

    fn by_argument() -> Destination {
        let argument = Argument::try_from("argument 1".to_owned()).unwrap();
        Destination::By(By::from(argument))
    }

    fn predicted(cycles_ratio: f64, to: Destination) -> Predicted {
        let function = PlannedFunction {
            module: "/server".into(),
            build_id: "00".into(),
            offset: 16,
            symbol: "f".into(),
            to,
            mode: Mode::Enter,
        };
        Predicted {
            plan: Plan {
                version: VERSION_BY_ARGUMENT,
                machine: "small".into(),
                trace: "t".into(),
                cores: 2,
                seed: 1,
                carriers_refuse: None,
                request: None,
                expected: None,
                functions: vec![function],
            },
            l2_misses_ratio: 0.5,
            cycles_ratio,
            hops_per_request: 1.0,
            speedup: None,
        }
    }

    fn kept_of(plans: &[(f64, Destination)], most: usize) -> Vec<f64> {
        let plans = plans.iter().map(|&(cycles, to)| predicted(cycles, to));
        let kept = kept(plans.collect(), most);
        kept.iter().map(|plan| plan.cycles_ratio).collect()
    }

    #[test]
    fn the_best_plan_of_each_kind_is_kept_and_the_best_predicted_comes_first() {
        let all = [
            (0.70, CORE),
            (0.71, CORE),
            (0.72, CORE),
            (0.80, by_argument()),
            (0.75, by_argument()),
            (0.90, CORE),
        ];
        assert_eq!(kept_of(&all, 2), [0.70, 0.75]);
        assert_eq!(kept_of(&all, 3), [0.70, 0.71, 0.75]);
        assert_eq!(kept_of(&all, 1), [0.70]);
        assert_eq!(kept_of(&all, 20).len(), 6);
    }
}
