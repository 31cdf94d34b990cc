//! Samples of every n-th access of a trace, like a profiler's: compared with a computation by hand
//! on the server's accesses.

use crate::made_up::{Action, Made, Served, functions, record};
use corehop_lab::characterize::Subject;
use corehop_lab::characterize::sampled::{Estimate, Sampler};
use corehop_partitioner::progress::Silent;
use corehop_traces::Kind;
use std::collections::BTreeSet;
use std::path::Path;

/// Three connections that look up shared data, and work on private data.
fn server(path: &Path) -> (corehop_traces::Trace, Vec<Made>) {
    let served = |number: u64| {
        let own = 100 + number % 3 * 20;
        let lookup = (0..30).map(|place| Action::Load(number * 7 % 40 + place));
        let own = (own..own + 15).map(Action::Store);
        let actions = [Action::Call(0)].into_iter().chain(lookup);
        Served {
            connection: Some(number % 3 + 1),
            thread: 0,
            actions: actions.chain([Action::Return]).chain(own).collect(),
        }
    };
    record(path, &(0..60).map(served).collect::<Vec<_>>())
}

#[test]
fn a_draw_has_the_classes_of_the_samples_that_it_took() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, made) = server(&folder.path().join("made-up.trace"));
    let subject = Subject::new(&trace, functions()).unwrap();
    let draws = subject.sampled((7, 5, 3), &Silent).unwrap();
    for (draw, found) in (0..).zip(&draws) {
        let mut sampler = Sampler::new(7, 5, draw);
        let taken: Vec<&Made> = made
            .iter()
            .filter(|made| sampler.takes(made.kind))
            .collect();
        let lines: BTreeSet<u64> = taken.iter().map(|made| made.line).collect();
        assert_eq!(found.totals.data.accesses, taken.len() as u64);
        assert_eq!(found.totals.data.lines, lines.len() as u64);
        let is_local = |line: &&u64| {
            let mut of_line = taken.iter().filter(|made| made.line == **line);
            of_line.all(|made| made.within.contains(&0))
        };
        let local = lines.iter().filter(is_local).count() as u64;
        assert_eq!(found.classes[0].data.both(false).lines, local);
        assert_eq!(found.totals.code.lines, 0);
    }
    assert_ne!(draws[0], draws[1]);
    assert_eq!(draws, subject.sampled((7, 5, 3), &Silent).unwrap());
}

#[test]
fn every_access_sampled_is_exact_and_one_in_more_is_biased_towards_local_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, _) = server(&folder.path().join("made-up.trace"));
    let subject = Subject::new(&trace, functions()).unwrap();
    let exact = subject.characterise(&Silent).unwrap();
    let all = subject.sampled((1, 1, 2), &Silent).unwrap();
    assert_eq!(all[0].classes[0].data, exact.classes[0].data);
    assert_eq!(all[0].totals.data, exact.totals.data);
    let shared = |of: &corehop_lab::characterize::Characterisation| {
        let lines = of.classes[0].data.of(false, true).lines;
        Some(lines as f64 / of.totals.data.lines as f64)
    };
    let told = Estimate::of(&exact, &all, shared).unwrap();
    assert_eq!((told.error(), told.half_width), (0.0, Some(0.0)));
    // For lines that are sampled once, it is unknown that two connections access them.
    let few = subject.sampled((40, 1, 10), &Silent).unwrap();
    let told = Estimate::of(&exact, &few, shared).unwrap();
    assert!(told.error() < -told.half_width.unwrap(), "{told:?}");
}

#[test]
fn one_in_so_many_of_each_kind_is_taken() {
    let mut sampler = Sampler::new(5, 1, 0);
    let mut taken = |kind| (0..100).filter(|_| sampler.takes(kind)).count();
    assert_eq!(
        [Kind::Load, Kind::Store, Kind::Fetch].map(&mut taken),
        [20, 20, 0]
    );
    assert_eq!(taken(Kind::Load), 20);
}

#[test]
fn bars_are_students_of_the_draws() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, _) = server(&folder.path().join("made-up.trace"));
    let exact = Subject::new(&trace, functions()).unwrap();
    let exact = exact.characterise(&Silent).unwrap();
    let draws = [2_u64, 4, 4, 4, 5, 5, 7, 9].map(|calls| {
        let mut draw = exact.clone();
        draw.calls[0] = calls;
        draw
    });
    let told = Estimate::of(&exact, &draws, |of| Some(of.calls[0] as f64)).unwrap();
    assert_eq!((told.exact, told.mean, told.error()), (60.0, 5.0, -55.0));
    // The sample's deviation is the root of 32 / 7; Student's quantile for 7 is 2.3646.
    let expected = 2.364_624 * (32.0_f64 / 7.0 / 8.0).sqrt();
    assert!(
        (told.half_width.unwrap() - expected).abs() < 1e-5,
        "{told:?}"
    );
}
