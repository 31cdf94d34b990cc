//! Measures all variants of a server side by side, over several starts, alternately.
//!
//! Which parts of a cache a process's pages share is chance, and stays fixed during the process's
//! life, so rounds do not show it. All variants are therefore restarted several times, and a start
//! is the unit of variation. A round begins with another variant each time, so that none always
//! follows the same one. So does each start: servers that are filled later may have memory that is
//! faster to access. When all starts had one order, the last server took two thirds of the first
//! one's time with lists of twice the L2.
//!
//! Each turn has a fixed time, not a number of requests: a variant with expensive hops takes no
//! longer than others. Turns are short and many. The kernel lets client and server share a CPU or
//! not for some tenths of a second at a time, which changes a short request's time by half or more.
//!
//! A variant that fails is excluded, with the reason; the others continue. A start's ratio is that
//! of throughputs, over all its turns. The result is the median of the starts' ratios, with its
//! distribution-free interval from order statistics. Rejected: the median of the rounds' ratios,
//! which hides that a variant is slow more often.

use crate::Outcome;
use crate::planning::Planned;
use crate::row::Row;
use crate::running::{Running, Variant, Way};
use crate::server::{Answered, Load, Server};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const CONFIDENCE: f64 = 0.95;

/// Variants to compare, and the time for all of it.
pub struct Effort {
    /// The original is first.
    pub variants: &'static [Variant],
    /// Number of starts of all variants.
    pub starts: usize,
    /// Duration of a variant's turn in a round, or one batch if that takes longer.
    turn: Duration,
    /// Rounds continue until the original has been measured for this long.
    whole: Duration,
    /// Warm-up before the first round.
    warm_up: Duration,
    /// The same for the variant that decides itself whether hops pay off.
    decision: Duration,
    pub recorded_requests: u64,
    /// CPUs of the servers; none for all of this process.
    pub cpus: Vec<usize>,
    /// Whether the user has interrupted the bench. An unfinished measurement is then dropped.
    pub is_over: fn() -> bool,
}

impl Effort {
    pub fn whole(variants: &'static [Variant]) -> Effort {
        Effort {
            variants,
            starts: 7,
            // A round over all variants takes about half a second. Pauses of a second or more
            // between its turns would look like a changed load to `auto`.
            turn: Duration::from_millis(80),
            whole: Duration::from_secs(2),
            warm_up: Duration::from_secs(1),
            decision: Duration::from_secs(8),
            recorded_requests: u64::MAX,
            cpus: Vec::new(),
            is_over: || false,
        }
    }

    /// A short measurement that shows that it works.
    pub fn tiny(variants: &'static [Variant]) -> Effort {
        Effort {
            variants,
            starts: 2,
            turn: Duration::from_millis(1),
            whole: Duration::from_millis(1),
            warm_up: Duration::from_millis(1),
            decision: Duration::from_millis(1),
            recorded_requests: 30,
            cpus: Vec::new(),
            is_over: || false,
        }
    }

    /// A fifth of the time of a whole one, for variants that decide nothing.
    #[allow(dead_code)] // Only the bench of many cores has a time limit.
    pub fn short(variants: &'static [Variant]) -> Effort {
        Effort {
            turn: Duration::from_millis(40),
            whole: Duration::from_millis(400),
            warm_up: Duration::from_millis(200),
            ..Effort::whole(variants)
        }
    }

    /// Uses the number of starts that the user requests.
    pub fn with_starts(mut self, wanted: Option<&str>) -> Outcome<Effort> {
        if let Some(wanted) = wanted {
            let starts = wanted.parse().ok().filter(|&starts| starts > 0);
            let told = || format!("COREHOP_STARTS={wanted}: not a number of starts");
            self.starts = starts.ok_or_else(told)?;
        }
        Ok(self)
    }
}

/// A running variant and its results.
struct Side {
    variant: Variant,
    running: Running,
    /// Why it has no data.
    unfilled: Option<String>,
    /// Its load, or why it is excluded.
    load: Result<Box<dyn Load>, String>,
    /// Total over all its turns.
    answered: Answered,
}

/// Results of a variant over all starts, or why there are none.
struct Starts {
    row: Row,
    original: Vec<f64>,
    ratios: Vec<f64>,
}

/// Measures all variants on each number of connections.
pub fn measure(
    server: &dyn Server,
    effort: &Effort,
    planned: &Planned,
    folder: &Path,
) -> Outcome<Vec<Row>> {
    let mut contest = Contest::of(server, effort, planned);
    for start in 0..effort.starts {
        contest.start(server, effort, &folder.join(format!("start-{start}")))?;
        // A bench that is ended later has told these.
        let rows: Vec<Value> = contest.rows().iter().map(Row::json).collect();
        eprintln!("{}", json!({"starts": start + 1, "rows": rows}));
    }
    Ok(contest.rows())
}

/// All variants of a server, by number of connections, over the starts so far.
pub struct Contest<'a> {
    planned: &'a Planned,
    starts: Vec<Starts>,
    /// Number of starts so far.
    begun: usize,
}

impl<'a> Contest<'a> {
    /// Before the first start.
    pub fn of(server: &dyn Server, effort: &Effort, planned: &'a Planned) -> Contest<'a> {
        let mut starts = Vec::new();
        for &connections in server.connections() {
            starts.extend(effort.variants[1..].iter().map(|&variant| {
                let mut row = Row::of(server, connections, variant);
                row.predicted = planned.predicted(variant, connections);
                Starts {
                    row,
                    original: Vec::new(),
                    ratios: Vec::new(),
                }
            }));
        }
        Contest {
            planned,
            starts,
            begun: 0,
        }
    }

    /// Measures one more start, in a folder of this name.
    pub fn start(&mut self, server: &dyn Server, effort: &Effort, folder: &Path) -> Outcome<()> {
        std::fs::create_dir(folder)?;
        let at = (folder, self.begun);
        measure_start(server, effort, self.planned, at, &mut self.starts)?;
        self.begun += 1;
        // The parent folder is removed later with anything that is left.
        let _ = std::fs::remove_dir_all(folder);
        Ok(())
    }

    /// Returns the results so far.
    pub fn rows(&self) -> Vec<Row> {
        self.starts.iter().map(Starts::row).collect()
    }
}

/// Starts all variants once, the one of this number first, and measures them on each number of
/// connections.
fn measure_start(
    server: &dyn Server,
    effort: &Effort,
    planned: &Planned,
    (folder, first): (&Path, usize),
    starts: &mut [Starts],
) -> Outcome<()> {
    let mut sides = Vec::new();
    for place in 0..effort.variants.len() {
        let index = (first + place) % effort.variants.len();
        let variant = effort.variants[index];
        let way = Way::Hopping {
            variant,
            plan: &planned.plan,
            cpus: &effort.cpus,
        };
        if (effort.is_over)() {
            return Ok(());
        }
        let mut running = Running::start(server, &way, folder.join(variant.name()))?;
        let filled = server.fill(&mut running);
        let side = Side {
            variant,
            running,
            unfilled: filled.err().map(|error| error.to_string()),
            load: Err("not connected".into()),
            answered: Answered::default(),
        };
        sides.push((index, side));
    }
    sides.sort_by_key(|&(index, _)| index);
    let mut sides: Vec<Side> = sides.into_iter().map(|(_, side)| side).collect();
    let lines = starts.chunks_mut(effort.variants.len() - 1);
    for (&connections, line) in server.connections().iter().zip(lines) {
        for side in &mut sides {
            side.connect(server, connections, effort);
        }
        take_turns(&mut sides, effort);
        if (effort.is_over)() {
            return Ok(());
        }
        for (start, side) in line.iter_mut().zip(&sides[1..]) {
            start.add(side, &sides[0]);
        }
        for side in &mut sides {
            side.disconnect();
        }
    }
    let auto = sides.iter_mut().find(|side| side.variant == Variant::Auto);
    if let Some(auto) = auto {
        let verdict = auto.running.verdict().map(|verdict| verdict.to_string());
        let verdict = verdict.unwrap_or_else(|error| format!("no statistics: {error}"));
        eprintln!("{} {}: auto: {verdict}", server.name(), server.load_name());
    }
    Ok(())
}

/// Runs rounds among the sides; the original is the first of them.
fn take_turns(sides: &mut [Side], effort: &Effort) {
    for round in 0.. {
        let original = &sides[0];
        let is_over = original.load.is_err() || (effort.is_over)();
        if is_over || original.answered.seconds >= effort.whole.as_secs_f64() {
            return;
        }
        // A server's own threads continue for a while after its turn, at the expense of the next
        // one. So every second round runs in reverse order.
        let mut order: Vec<usize> = (0..sides.len()).collect();
        order.rotate_left(round % sides.len());
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            sides[index].measure(effort.turn);
        }
    }
}

impl Side {
    /// Connects and warms up, unless the server has failed.
    fn connect(&mut self, server: &dyn Server, connections: u32, effort: &Effort) {
        if let Some(reason) = &self.unfilled {
            self.load = Err(reason.clone());
            return;
        }
        let load = server.connect(&mut self.running, connections);
        self.load = load.map_err(|error| error.to_string());
        self.measure(match self.variant {
            Variant::Auto => effort.decision,
            _ => effort.warm_up,
        });
        self.answered = Answered::default();
    }

    fn seconds_a_request(&self) -> f64 {
        self.answered.seconds / self.answered.requests.max(1) as f64
    }

    /// Drives the load for this long, and adds its answers.
    fn measure(&mut self, turn: Duration) {
        let Ok(load) = &mut self.load else {
            return;
        };
        let end = self.answered.seconds + turn.as_secs_f64();
        while self.answered.seconds < end {
            match load.batch() {
                Ok(batch) => {
                    self.answered.requests += batch.requests;
                    self.answered.seconds += batch.seconds;
                }
                Err(error) => {
                    let said = self.running.last_words();
                    self.load = Err(format!("{error}; the server said: {said}"));
                    return;
                }
            }
        }
    }

    /// Prepares for another number of connections.
    fn disconnect(&mut self) {
        self.load = Err("not connected".into());
        self.answered = Answered::default();
    }
}

impl Starts {
    /// Adds the results of one more start.
    fn add(&mut self, side: &Side, original: &Side) {
        let refusal = side.running.refusal(side.variant);
        let failed = [original, side].into_iter().find_map(|side| {
            let reason = side.load.as_ref().err()?;
            Some(format!("{}: {reason}", side.variant.name()))
        });
        if let Some(reason) = failed.or(refusal) {
            if !self.row.reasons.contains(&reason) {
                self.row.reasons.push(reason);
            }
            return;
        }
        let [original, own] = [original, side].map(Side::seconds_a_request);
        self.original.push(original);
        self.ratios.push(original / own);
    }

    /// A variant that failed in one start has no figures: the rest would only cover the working
    /// starts.
    fn row(&self) -> Row {
        let mut row = self.row.clone();
        if !row.reasons.is_empty() {
            return row;
        }
        row.starts = self.ratios.len();
        if row.starts == 0 {
            row.reasons.push("no start was measured".into());
            return row;
        }
        row.original_us = Some(median(self.original.clone()) * 1e6);
        row.ratio = Some(median(self.ratios.clone()));
        row.interval = interval(self.ratios.clone());
        if row.interval.is_none() {
            row.reasons.push("interval: too few starts".into());
        }
        row
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() % 2 {
        1 => samples[middle],
        _ => f64::midpoint(samples[middle - 1], samples[middle]),
    }
}

/// Returns the narrowest pair of samples, equally far from both ends, that contains their
/// distribution's median with the confidence. The number of samples below the median is binomial
/// with one half.
fn interval(mut samples: Vec<f64>) -> Option<[f64; 2]> {
    samples.sort_by(f64::total_cmp);
    let count = samples.len();
    let (mut chance, mut below, mut left_out) = (0.5_f64.powi(count as i32), 0.0, None);
    for number in 0..count / 2 {
        below += chance;
        if 2.0 * below > 1.0 - CONFIDENCE {
            break;
        }
        left_out = Some(number);
        chance *= (count - number) as f64 / (number + 1) as f64;
    }
    left_out.map(|number| [samples[number], samples[count - 1 - number]])
}
