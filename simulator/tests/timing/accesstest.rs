//! Accesstest (`benches/accesstest`): the naive simulation has the same counts, and delegation
//! gains if two caches hold what one cannot, or if cores would otherwise invalidate each other's
//! lines.
//!
//! The naive side has an independent program: it receives the paths, but not the trace or anything
//! derived from it.

use crate::timing::against_naive::case::{Case, Model};
use crate::timing::against_naive::naive::naive;
use crate::timing::against_naive::program::{Action, Planned, Script};
use crate::timing::known_schedulers::known;
use crate::timing::simulated::{self, CORES, Point};
use crate::timing::synthetic::{LINE_BYTES, QUANTUM_CYCLES, Step};
use corehop_simulator::Machine;
use corehop_simulator::branches::BranchPredictorName;
use corehop_simulator::timing::{Load, Outcome, PrefetcherName};
use corehop_traces::Kind;

/// Enough that no core ever waits for a session, and few enough for the naive simulation.
const SESSIONS: i8 = 6;
const TURNS: u64 = 12;
/// Functions are on separate pages, from the second page on. The first line is the entry, the
/// second executes sixteen steps and the third one step.
const PAGE_LINES: u64 = 4096 / LINE_BYTES;
const AT_ONCE: usize = 16;
/// Not a function of the plan: steps are not entries.
const WITHIN: u32 = 2;

fn machine() -> Machine {
    Machine::named_or_path("xeon-d-1540").unwrap()
}

/// The actions of a session in a turn.
fn turn(paths: &[Vec<Step>; 2]) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut act = |function, instructions, references| {
        actions.push(Action {
            place: 0,
            function,
            call_ends: None,
            instructions,
            references,
            branch: None,
        });
    };
    let mut loads = 0;
    for (function, path) in (0..).zip(paths) {
        let code = (u64::from(function) + 1) * PAGE_LINES;
        act(function, 1, vec![(Kind::Fetch, code, 0)]);
        let (many, few) = path.as_chunks::<AT_ONCE>();
        let many = many.iter().map(|steps| (&steps[..], code + 1));
        let few = few.chunks(1).map(|steps| (steps, code + 2));
        for (steps, code) in many.chain(few) {
            let mut references = vec![(Kind::Fetch, code, 0)];
            for step in steps {
                let line = step.address / LINE_BYTES;
                // Both wait for the load before this step's; initially there is none.
                references.push((Kind::Load, line, u8::from(loads > 0)));
                loads += 1;
                if step.is_written {
                    references.push((Kind::Store, line, if loads > 1 { 2 } else { 0 }));
                }
            }
            act(WITHIN, 2 * steps.len() as u32, references);
        }
    }
    actions
}

fn case(machine: Machine, scheduler: &str) -> Case {
    Case {
        steps: Vec::new(),
        machine,
        model: Model::Window,
        cores: CORES,
        planned: Planned::new(vec![(0, 0, false), (1, 1, false)], CORES),
        scheduler: scheduler.parse().unwrap(),
        argument: 0,
        policy: known,
        prefetcher: PrefetcherName::None,
        branch_predictor: BranchPredictorName::None,
        translates: false,
        regions: Vec::new(),
        random_pages: None,
        load: Load::Closed {
            think_cycles: 0,
            exponential: false,
        },
        more: SESSIONS - 1,
        seed: 1,
        quantum_cycles: QUANTUM_CYCLES,
        warm_up: TURNS,
        requests: TURNS,
    }
}

#[test]
fn accesstest_counts_what_the_naive_simulation_counts() {
    for (working_set_kib, updates_percent) in [(16, 0.0), (40, 10.0), (48, 0.0), (80, 100.0)] {
        let point = Point {
            working_set_kib,
            updates_percent,
        };
        let paths = simulated::paths(point);
        let script: Script = vec![turn(&paths)];
        for scheduler in ["pinned", "split"] {
            let mut machine = machine();
            let sessions = SESSIONS as usize;
            let outcome = simulated::outcome(&machine, &paths, scheduler, sessions, TURNS);
            machine.set_hop_cost(machine.carried_hop_cycles());
            let expected = naive(&case(machine, scheduler), std::slice::from_ref(&script));
            assert_eq!(outcome.unwrap(), expected, "{point:?}, {scheduler}");
        }
    }
}

/// Returns the outcomes in place and delegated, with as many sessions as the benchmark has.
fn outcomes(working_set_kib: u64, updates_percent: f64) -> [Outcome; 2] {
    let point = Point {
        working_set_kib,
        updates_percent,
    };
    let paths = simulated::paths(point);
    ["pinned", "split"].map(|scheduler| {
        simulated::outcome(&machine(), &paths, scheduler, simulated::SESSIONS, TURNS).unwrap()
    })
}

fn pays([in_place, delegated]: &[Outcome; 2]) -> bool {
    delegated.requests_per_million_cycles() > in_place.requests_per_million_cycles()
}

#[test]
fn without_updates_delegating_pays_where_two_caches_hold_what_one_does_not() {
    let (l1d_kib, l2_kib) = (32, 256);
    let sets = [
        (16, false),
        (32, false),
        (40, true),
        (64, true),
        (80, false),
        (192, false),
    ];
    for (kib, expected) in sets.into_iter().chain([(320, true), (448, true)]) {
        let outcomes = outcomes(kib, 0.0);
        assert_eq!(pays(&outcomes), expected, "{kib} KiB");
        for (outcome, caches) in outcomes.iter().zip(1..) {
            let counters = outcome.counters();
            let is_held = [counters.l1d, counters.l2].map(|level| level.data_misses() == 0);
            let fits = [l1d_kib, l2_kib].map(|level| kib <= level * caches);
            assert_eq!(is_held, fits, "{kib} KiB in {caches} caches");
            assert_eq!(counters.invalidated_lines, 0, "{kib} KiB");
        }
    }
}

#[test]
fn where_every_touch_writes_delegating_pays_and_takes_no_line() {
    for kib in [16, 32, 64, 80, 192, 448] {
        let outcomes = outcomes(kib, 100.0);
        assert!(pays(&outcomes), "{kib} KiB");
        let taken = outcomes
            .each_ref()
            .map(|outcome| outcome.counters().invalidated_lines);
        assert!(taken[0] > 0 && taken[1] == 0, "{kib} KiB: {taken:?}");
    }
}

#[test]
fn with_few_updates_delegating_pays_from_the_share_on_that_a_hop_is_worth() {
    let of = |updates| pays(&outcomes(32, updates));
    assert_eq!(
        [0.0, 0.1, 1.0, 10.0, 100.0].map(of),
        [false, false, false, true, true]
    );
}
