//! All variants of a server side by side, started several times, measured in turns.
//!
//! Which parts of a cache a process's pages share is chance, and stays as it fell as long as the
//! process lives: rounds show nothing of it. So all variants are started anew several times, and
//! what varies is a start. A round begins with another variant each time, so that none always
//! follows the same. Each turn is a time, not a number of requests: a variant that hops cost a lot
//! takes no longer than others. Turns are short and many, since the kernel lets client and server
//! share a CPU or not for some tenths of a second at a time, which changes a short request's time
//! by half and more. A variant that fails is out, with the reason; the others go on. A start's
//! ratio is that of throughputs, over all its turns. Of the starts' ratios the median is told, with
//! the interval that order statistics give it whatever their distribution. Rejected: the median of
//! the rounds' ratios, which does not see that a variant is slow more often.

use crate::Outcome;
use crate::planning::Planned;
use crate::row::Row;
use crate::running::{Running, Variant, Way};
use crate::server::{Answered, Load, Server};
use std::path::Path;
use std::time::Duration;

const CONFIDENCE: f64 = 0.95;

/// What is measured beside each other, and how long all of it may take.
pub struct Effort {
    /// The original first.
    pub variants: &'static [Variant],
    /// Of all variants.
    pub starts: usize,
    /// In a round a variant is measured once for so long, or for a batch that takes longer.
    turn: Duration,
    /// Rounds go on until the original has been measured for so long.
    whole: Duration,
    /// Before the first round.
    warm_up: Duration,
    /// The same for the variant that finds out by itself whether hops pay.
    decision: Duration,
    pub recorded_requests: u64,
}

impl Effort {
    pub fn whole(variants: &'static [Variant]) -> Effort {
        Effort {
            variants,
            starts: 7,
            // Of all variants a round takes about half a second: to `auto` pauses of a second or
            // more between its turns would be a load that has changed.
            turn: Duration::from_millis(80),
            whole: Duration::from_secs(2),
            warm_up: Duration::from_secs(1),
            decision: Duration::from_secs(8),
            recorded_requests: u64::MAX,
        }
    }

    /// To show that it works.
    pub fn tiny(variants: &'static [Variant]) -> Effort {
        Effort {
            variants,
            starts: 2,
            turn: Duration::from_millis(1),
            whole: Duration::from_millis(1),
            warm_up: Duration::from_millis(1),
            decision: Duration::from_millis(1),
            recorded_requests: 30,
        }
    }

    /// With as many starts as the user asks for.
    pub fn with_starts(mut self, wanted: Option<&str>) -> Outcome<Effort> {
        if let Some(wanted) = wanted {
            let starts = wanted.parse().ok().filter(|&starts| starts > 0);
            let told = || format!("COREHOP_STARTS={wanted}: not a number of starts");
            self.starts = starts.ok_or_else(told)?;
        }
        Ok(self)
    }
}

/// One variant that runs, and what was found of it.
struct Side {
    variant: Variant,
    running: Running,
    /// Why it does not have its data.
    unfilled: Option<String>,
    /// What drives it, or why it is out.
    load: Result<Box<dyn Load>, String>,
    /// In all its turns.
    answered: Answered,
}

/// What all starts have told of a variant, or why there is nothing to tell.
struct Starts {
    row: Row,
    original: Vec<f64>,
    ratios: Vec<f64>,
}

/// All variants on each number of connections.
pub fn measure(
    server: &dyn Server,
    effort: &Effort,
    planned: &Planned,
    folder: &Path,
) -> Outcome<Vec<Row>> {
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
    for start in 0..effort.starts {
        let place = folder.join(format!("start-{start}"));
        std::fs::create_dir(&place)?;
        measure_start(server, effort, planned, &place, &mut starts)?;
        // What is left goes with the folder around it.
        let _ = std::fs::remove_dir_all(&place);
    }
    Ok(starts.into_iter().map(Starts::row).collect())
}

/// Starts all variants once, and measures them on each number of connections.
fn measure_start(
    server: &dyn Server,
    effort: &Effort,
    planned: &Planned,
    folder: &Path,
    starts: &mut [Starts],
) -> Outcome<()> {
    let mut sides = Vec::new();
    for &variant in effort.variants {
        let way = Way::Hopping {
            variant,
            plan: &planned.plan,
        };
        let mut running = Running::start(server, &way, folder.join(variant.name()))?;
        let filled = server.fill(&mut running);
        sides.push(Side {
            variant,
            running,
            unfilled: filled.err().map(|error| error.to_string()),
            load: Err("not connected".into()),
            answered: Answered::default(),
        });
    }
    let lines = starts.chunks_mut(effort.variants.len() - 1);
    for (&connections, line) in server.connections().iter().zip(lines) {
        for side in &mut sides {
            side.connect(server, connections, effort);
        }
        take_turns(&mut sides, effort);
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

/// Rounds among the sides, of which the original is the first.
fn take_turns(sides: &mut [Side], effort: &Effort) {
    for round in 0.. {
        let original = &sides[0];
        if original.load.is_err() || original.answered.seconds >= effort.whole.as_secs_f64() {
            return;
        }
        // A server goes on for a while after its turn, in threads of its own: the next one's turn
        // pays for it, so every second round goes the other way.
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

    /// Drives the load for so long, and takes down what was answered.
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

    /// Ready for another number of connections.
    fn disconnect(&mut self) {
        self.load = Err("not connected".into());
        self.answered = Answered::default();
    }
}

impl Starts {
    /// What one more start has told.
    fn add(&mut self, side: &Side, original: &Side) {
        let refusal = match side.variant {
            Variant::Carrier => side.running.refusal(),
            _ => None,
        };
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

    /// A variant that failed in one start has no figures: the others' would be of those that work.
    fn row(self) -> Row {
        let mut row = self.row;
        if !row.reasons.is_empty() {
            return row;
        }
        row.original_us = Some(median(self.original) * 1e6);
        row.ratio = Some(median(self.ratios.clone()));
        row.interval = interval(self.ratios);
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

/// The narrowest two of the samples, as many from either end, between which their distribution's
/// median lies with the confidence: how many samples lie below it is binomial, of one half.
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
