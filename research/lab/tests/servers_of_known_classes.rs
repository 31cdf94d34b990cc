//! Servers whose lines are known: their reported classes, and the effect of delegating their
//! function.

use crate::made_up::{Action, Served, functions, record};
use corehop_lab::characterize::classes::{Class, Sum};
use corehop_lab::characterize::gain::{Baseline, gains, in_turn};
use corehop_lab::characterize::profile::{Profile, Wanted};
use corehop_lab::characterize::{Error, Subject};
use corehop_partitioner::progress::Silent;
use corehop_partitioner::requests::{Searched, TrainTestSplit};
use corehop_simulator::{CoreId, Machine, Split, replay};
use corehop_traces::{FunctionId, Trace};
use std::path::Path;

const LOOKUP: u32 = 0;
/// Lines of the stack and of code; together with the data they must fit an L2.
const LINES: u64 = 3000;

/// Each of four connections alternately makes the same request. `lookup` loads and stores a shared
/// table, and loads an entry of its connection. The rest works on a buffer of the connection and on
/// a shared log, whose last line `lookup` loads.
fn shop(path: &Path, requests: u64) -> Trace {
    let served = |number: u64| {
        let connection = number % 4;
        let own = |first: u64| first + connection * 10;
        let lookup = [Action::Call(LOOKUP)]
            .into_iter()
            .chain((0..20).map(Action::Load))
            .chain((0..5).map(Action::Store))
            .chain((0..3).map(|line| Action::Load(own(100) + line)))
            .chain([Action::Load(own(200)), Action::Load(300), Action::Return]);
        let rest = (0..6).map(|line| Action::Store(own(200) + line));
        let log = (0..4).map(|line| Action::Load(300 + line));
        Served {
            connection: Some(connection + 7),
            thread: (number % 2) as usize,
            actions: lookup.chain(rest).chain(log).collect(),
        }
    };
    record(path, &(0..requests).map(served).collect::<Vec<_>>()).0
}

#[test]
fn each_class_has_the_lines_that_the_server_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let trace = shop(&folder.path().join("shop.trace"), 8);
    let subject = Subject::new(&trace, functions()).unwrap();
    assert_eq!(subject.sessions.count(), 4);
    assert!(subject.sessions.are_connections());
    let found = subject.characterise(&Silent).unwrap();
    // The table, four entries, four buffers, the log, and a line of each of two stacks.
    let lines = 20 + 4 * 3 + 4 * 6 + 4 + 2;
    assert_eq!(
        found.totals.data,
        Sum {
            lines,
            accesses: 8 * 42,
            stores: 8 * 12
        }
    );
    assert_eq!(found.calls, [8, 0, 0, 0]);
    let data = found.classes[0].data;
    let class = |lines, accesses, stores, others: [u64; 2]| Class {
        lines,
        accesses,
        stores,
        accesses_of_others: others[0],
        stores_of_others: others[1],
    };
    assert_eq!(data.of(false, true), class(20, 8 * 25, 8 * 5, [0, 0]));
    assert_eq!(data.of(false, true).update_ratio(), Some(0.2));
    assert_eq!(data.of(false, false), class(12, 8 * 3, 0, [0, 0]));
    assert_eq!(data.of(true, false), class(4, 8, 0, [8, 8]));
    // The log's first line, and on the stack the return address: stored before, loaded within.
    assert_eq!(data.of(true, true), class(1 + 2, 8 * 2, 0, [8 * 2, 8]));
    assert_eq!(found.classes[1], Default::default());
}

#[test]
fn what_a_callee_does_is_its_callers_too_and_a_recursive_call_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let actions = [
        Action::Call(0),
        Action::Call(1),
        Action::Call(0),
        Action::Store(5),
    ];
    let served = Served {
        connection: Some(1),
        thread: 0,
        actions: actions.to_vec(),
    };
    let (trace, _) = record(&folder.path().join("nested.trace"), &[served]);
    let found = Subject::new(&trace, functions()).unwrap();
    let found = found.characterise(&Silent).unwrap();
    // The line, and the accesses to the line of return addresses within.
    let own = |place: usize| {
        let data = found.classes[place].data;
        [data.both(false), data.both(true)].map(|class| (class.lines, class.accesses))
    };
    assert_eq!(own(0), [(1, 1), (1, 5)]);
    assert_eq!(own(1), [(1, 1), (1, 3)]);
    assert_eq!(found.calls[..2], [2, 1]);
}

#[test]
fn one_connection_or_none_known_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let served = |connection, thread| Served {
        connection,
        thread,
        actions: vec![Action::Load(1)],
    };
    let sessions = |name: &str, requests: &[Served]| {
        let (trace, _) = record(&folder.path().join(name), requests);
        let sessions = Subject::new(&trace, functions()).unwrap().sessions;
        let (count, known) = (sessions.count(), sessions.are_connections());
        (count, known, sessions.are_told_apart())
    };
    let one = [served(Some(3), 0), served(Some(3), 1)];
    assert_eq!(sessions("one.trace", &one), (1, true, false));
    let threads = [served(Some(3), 0), served(None, 1)];
    assert_eq!(sessions("threads.trace", &threads), (2, false, true));
}

#[test]
fn functions_are_found_by_name_and_others_are_named_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = shop(&folder.path().join("shop.trace"), 4);
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Subject::named(&trace, &names)
    };
    let found = named(&["f1", "f0", "f1"]).unwrap();
    assert_eq!(found, [1, 0].map(FunctionId));
    let missing = named(&["f0", "g"]).unwrap_err();
    assert!(matches!(missing, Error::NoSuchFunction { ref name } if name == "g"));
}

/// Two threads whose requests use an L2 full of data, then look up as much.
fn two_halves(path: &Path) -> Trace {
    let served = |number: u64| {
        let half = |first: u64| (first..first + LINES).map(Action::Load);
        let actions = half(0)
            .chain([Action::Call(LOOKUP)])
            .chain(half(LINES))
            .chain([Action::Return]);
        Served {
            connection: Some(number % 2 + 1),
            thread: (number % 2) as usize,
            actions: actions.collect(),
        }
    };
    record(path, &(0..30).map(served).collect::<Vec<_>>()).0
}

#[test]
fn the_gain_is_that_of_the_plan_that_delegates_the_function_alone() {
    let folder = tempfile::tempdir().unwrap();
    let trace = two_halves(&folder.path().join("halves.trace"));
    let subject = Subject::new(&trace, functions()).unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let parts = TrainTestSplit::of(trace.requests(), Searched::Sample(10), 1).unwrap();
    let options = parts.held_out_options();
    let lookup = FunctionId(LOOKUP);
    let found = gains(&subject, &[lookup], &machine, &options, &Silent).unwrap();
    let split = Split::new([(lookup, CoreId(1))]).delegating([lookup]);
    assert_eq!(
        found.delegated[0],
        replay(&trace, &machine, &split, &options).unwrap()
    );
    assert_eq!(found.delegated[0].hops, 2 * found.one_core.requests);
    // A single core misses all of both halves in every request. Delegated, only lines that move
    // over miss: the line of the return address and, if threads share it, the previous one.
    let requests = found.one_core.requests;
    assert!(found.one_core.counters.l2.misses() >= requests * 2 * LINES);
    assert!(found.delegated[0].counters.l2.misses() <= requests * 2);
    assert!(found.misses_saved(Baseline::OneCore, 0).unwrap() > 0.999);
    assert!(found.misses_saved(Baseline::InTurn, 0).unwrap() > 0.999);
    let free = found
        .cycles_saved((Baseline::OneCore, 0), &machine, 0)
        .unwrap();
    let break_even = found.break_even_cycles(0, &machine).unwrap() as u32;
    let paid = found.cycles_saved((Baseline::OneCore, 0), &machine, break_even);
    assert!(free > 0.5 && paid.unwrap().abs() < 1e-3, "{free} {paid:?}");
}

#[test]
fn traffic_adds_up_to_what_a_replay_counts() {
    let folder = tempfile::tempdir().unwrap();
    for (name, trace) in [
        ("halves", two_halves(&folder.path().join("halves.trace"))),
        ("shop", shop(&folder.path().join("shop.trace"), 40)),
    ] {
        let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        let train_test = TrainTestSplit::of(trace.requests(), Searched::Sample(10), 1).unwrap();
        let options = train_test.held_out_options();
        let subject = Subject::new(&trace, functions()).unwrap();
        let split = in_turn(&subject, &options);
        assert_eq!(split.cores(), 2);
        let counted = replay(&trace, &machine, &split, &options).unwrap().counters;
        let wanted = Wanted {
            machine: &machine,
            train_test: &train_test,
            gains: 1,
        };
        let profile = Profile::of(subject, &wanted, &Silent).unwrap();
        assert_eq!(profile.order[0], 0);
        let replayed = profile.replayed.unwrap();
        let traffic = replayed.traffic;
        let found = (
            traffic.missed,
            traffic.missed_by_stores,
            traffic.invalidated,
        );
        let l2 = counted.l2;
        let expected = (
            l2.misses(),
            l2.coherence_misses(),
            counted.invalidated_lines,
        );
        assert_eq!(found, expected, "{name}");
        assert_eq!(replayed.gains.in_turn.counters, counted);
        let own = replayed.traffic_of[0];
        match name {
            // Half of all data belongs to the function; code and stacks are evicted along with the
            // rest.
            "halves" => {
                let requests = replayed.gains.in_turn.requests;
                assert!(own.displaced >= requests * LINES, "{own:?}");
                assert!(own.displaced.abs_diff(traffic.displaced / 2) <= requests);
                assert_eq!(own.invalidated, 0);
            }
            // The table's five lines move whenever the other thread runs, on its core.
            _ => {
                let all = options.requests.as_ref().unwrap();
                let thread = |place: usize| trace.requests()[all[place].index()].thread;
                let counted = options.warm_up_requests..all.len();
                let turns = counted.filter(|&place| thread(place) != thread(place - 1));
                assert_eq!(own.invalidated, 5 * turns.count() as u64);
            }
        }
    }
}
