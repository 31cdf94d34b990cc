//! Times searches of the bundled sample, compared with the same search by replaying each split.
//!
//! `make bench-search` runs it in full and prints a table, and one JSON object in the last line.
//! Counted splits are checked against full replays, a random thousand of them or all. The naive
//! rate is that of some splits, each replayed access by access from the trace like the search's
//! rounds, on the same two host threads. The time for all splits is extrapolated. Without
//! arguments, as under `cargo test`, it runs once on a few requests, to show that it still works.

mod machine;

use corehop_partitioner::candidates::{CandidateRule, Candidates};
use corehop_partitioner::evaluate::{Evaluator, IndexedPlacement, Term, named, rounds};
use corehop_partitioner::progress::Silent;
use corehop_partitioner::requests::{Searched, TrainTestSplit};
use corehop_partitioner::strategy::{Ranking, Search, Strategy, combinations, search};
use corehop_simulator::{Machine, Prepared, PrivateReplay, ReplayOptions, Replayer, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use rayon::prelude::*;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Maximum time of a search.
const LIMIT: Duration = Duration::from_secs(60);

/// Input of a search.
struct Subject {
    trace: Trace,
    machine: Machine,
    requests: Vec<RequestId>,
    functions: Vec<FunctionId>,
}

/// One search, timed from the opened trace on.
struct Timed {
    ranking: Ranking,
    seconds: f64,
    sets: usize,
}

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build_global()?;
    let (requests, within, cores, checked, naive) = match is_whole {
        true => (10, 0, 3, 1000, 8),
        false => (2, 3000, 2, 10, 1),
    };
    let subject = Subject::new(requests, within)?;
    let timed = subject.time(cores, Some(Strategy::Exhaustive), None)?;
    let splits = combinations(subject.functions.len() as u64, cores.into());
    assert_eq!(u128::from(timed.ranking.evaluated), splits);
    let naive_seconds = subject.naive_seconds(cores, naive)? * splits as f64;
    subject.check(cores, checked)?;
    let speedup = naive_seconds / timed.seconds;
    println!("{}\n", machine::described());
    let all = format!(
        "{splits} splits of {} functions, {cores} cores",
        subject.functions.len()
    );
    println!("{all:<44}{:>9}{:>15}", "seconds", "times as long");
    let counted = format!("searched; {checked} counted again in full");
    println!("{counted:<44}{:>9.1}{:>15}", timed.seconds, 1);
    let each = format!("each replayed; extrapolated from {naive}");
    println!("{each:<44}{naive_seconds:>9.0}{speedup:>15.0}\n");
    let mut figures = json!({
        "exhaustive3_splits": timed.ranking.evaluated,
        "exhaustive3_seconds": timed.seconds,
        "naive_seconds_extrapolated": naive_seconds,
        "speedup_over_naive": speedup,
        "checked_splits": checked,
        "naive_splits": naive,
        "exhaustive3_functions": subject.functions.len(),
    });
    println!("requests  functions  cores   seconds      sets   misses  within");
    if is_whole {
        let eight = row(10, 300, 8)?;
        figures["eight_core_seconds"] = eight["seconds"].clone();
        figures["eight_core_gap_percent"] = eight["gap_percent"].clone();
        let hundred = row(100, 300, 4)?;
        figures["hundred_requests_seconds"] = hundred["seconds"].clone();
        figures["hundred_requests_gap_percent"] = hundred["gap_percent"].clone();
        figures["largest"] = json!([eight, hundred]);
        figures["growth"] = growth()?.into();
    } else {
        figures["growth"] = json!([row(2, 3000, 2)?]);
    }
    println!();
    figures["peak_rss_mib"] = json!(peak_mib()?);
    println!("{figures}");
    Ok(())
}

/// Measures the growth of time with requests, functions and cores, one of them at a time.
fn growth() -> Outcome<Vec<serde_json::Value>> {
    let rows = [
        (10, 300, 2),
        (10, 300, 3),
        (10, 300, 4),
        (10, 300, 6),
        (10, 3000, 4),
        (10, 0, 4),
        (5, 300, 4),
        (20, 300, 4),
        (40, 300, 4),
    ];
    let row = |(requests, within, cores)| row(requests, within, cores);
    rows.into_iter().map(row).collect()
}

/// Searches like `corehop partition`, prints a line of the table, and returns its figures.
fn row(requests: usize, within: u64, cores: u32) -> Outcome<serde_json::Value> {
    let subject = Subject::new(requests, within)?;
    let timed = subject.time(cores, None, Some(LIMIT))?;
    let proof = match timed.ranking.is_optimal() {
        true => "proven optimal".into(),
        false => format!("{:.1} %", percent(&timed.ranking).unwrap_or(f64::INFINITY)),
    };
    println!(
        "{requests:>8}{:>11}{cores:>7}{:>10.1}{:>10}{:>9}  {proof}",
        subject.functions.len(),
        timed.seconds,
        timed.sets,
        timed.ranking.best[0].0,
    );
    Ok(json!({
        "requests": requests, "group_within": within, "cores": cores,
        "functions": subject.functions.len(), "seconds": timed.seconds, "sets": timed.sets,
        "misses": timed.ranking.best[0].0, "gap_percent": percent(&timed.ranking),
        "is_optimal": timed.ranking.is_optimal(),
    }))
}

fn percent(ranking: &Ranking) -> Option<f64> {
    ranking.gap().map(|gap| gap * 100.0)
}

impl Subject {
    /// Takes some requests of the bundled sample, and groups its candidates.
    fn new(requests: usize, group_within: u64) -> Outcome<Subject> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/samples/mariadb-tpcc.trace");
        let trace = Trace::open(&path)?;
        let parts = TrainTestSplit::of(trace.requests(), Searched::Sample(requests), 1)?;
        let learning: Vec<RequestId> = parts.training().collect();
        let rule = CandidateRule {
            group_within,
            ..CandidateRule::default()
        };
        Ok(Subject {
            functions: Candidates::of(&trace, &learning, &rule, &Silent)?.representatives(),
            machine: Machine::named_or_path("xeon-e5-2620-v4")?,
            requests: parts.searched,
            trace,
        })
    }

    fn rounds(&self) -> usize {
        rounds(self.requests.len())
    }

    fn prepare(&self) -> Outcome<Prepared> {
        let options = ReplayOptions {
            requests: Some(self.requests.clone()),
            ..ReplayOptions::default()
        };
        let prepared = Prepared::new(&self.trace, &[&self.machine], &self.functions, &options);
        Ok(prepared?)
    }

    /// Returns the machine without the L3, which the ranking ignores.
    fn private(&self) -> Machine {
        Machine {
            l3: None,
            ..self.machine.clone()
        }
    }

    fn time(
        &self,
        cores: u32,
        strategy: Option<Strategy>,
        limit: Option<Duration>,
    ) -> Outcome<Timed> {
        let begun = Instant::now();
        let prepared = self.prepare()?;
        let private_replay =
            PrivateReplay::new(&prepared, &self.machine, self.rounds()).ok_or("a shared L2")?;
        let terms = [Term::l2(private_replay)];
        let mut evaluator = Evaluator::new(&terms, &self.functions);
        let wanted = Search {
            cores,
            functions: cores,
            strategy,
            seed: 1,
            keep: 5,
            until: limit.map(|limit| begun + limit),
            progress: &Silent,
        };
        Ok(Timed {
            ranking: search(&mut evaluator, &wanted),
            seconds: begun.elapsed().as_secs_f64(),
            sets: evaluator.sets_known(),
        })
    }

    fn split(&self, choice: &IndexedPlacement) -> Split {
        Split::new(named(choice, &self.functions))
    }

    /// Returns the seconds per split if each is replayed access by access from the trace.
    fn naive_seconds(&self, cores: u32, splits: usize) -> Outcome<f64> {
        let machine = self.private();
        let begun = Instant::now();
        let replay = |choice: &IndexedPlacement| -> Outcome<u64> {
            let split = self.split(choice);
            let mut replayer = Replayer::new(&machine, &split)?;
            for _ in 0..self.rounds() {
                let mut executions = self.trace.executions_of(&self.requests);
                while let Some(execution) = executions.next()? {
                    replayer.execute(&execution);
                }
            }
            Ok(replayer.finish().counters.l2.misses())
        };
        let choices = self.drawn(cores, splits);
        let misses: Outcome<Vec<u64>> = choices.par_iter().with_max_len(1).map(replay).collect();
        let seconds = begun.elapsed().as_secs_f64() / splits as f64;
        assert_eq!(
            misses?,
            self.evaluated(&choices)?,
            "the search counts differently"
        );
        Ok(seconds)
    }

    /// Checks the search's counts of random splits against full replays.
    fn check(&self, cores: u32, splits: usize) -> Outcome<()> {
        let (machine, prepared) = (self.private(), self.prepare()?);
        let choices = self.drawn(cores, splits);
        let counted = self.evaluated(&choices)?;
        for (choice, counted) in choices.iter().zip(counted) {
            let replay = prepared.replay_rounds(&machine, &self.split(choice), self.rounds())?;
            assert_eq!(replay.counters.l2.misses(), counted, "{choice:?}");
        }
        Ok(())
    }

    fn evaluated(&self, choices: &[IndexedPlacement]) -> Outcome<Vec<u64>> {
        let prepared = self.prepare()?;
        let private_replay =
            PrivateReplay::new(&prepared, &self.machine, self.rounds()).ok_or("a shared L2")?;
        let terms = [Term::l2(private_replay)];
        Ok(Evaluator::new(&terms, &self.functions).evaluate(choices))
    }

    /// Returns random splits, the same each time: a multiplicative sequence is random enough.
    fn drawn(&self, cores: u32, splits: usize) -> Vec<IndexedPlacement> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as u32 % self.functions.len() as u32
        };
        let mut split = || {
            let mut split = Vec::new();
            while split.len() < cores as usize {
                let function = next();
                if !split.contains(&function) {
                    split.push(function);
                }
            }
            split.sort_unstable();
            split.into_iter().zip(0..).collect()
        };
        (0..splits).map(|_| split()).collect()
    }
}

/// Returns this process's peak memory, as the kernel reports it.
fn peak_mib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.ok_or("no VmHWM in /proc/self/status")?;
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes >> 10)
}
