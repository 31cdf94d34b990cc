//! Srinivasan's benchmark on a simulated machine: each way to run the critical section as a trace.
//!
//! Under a lock, each thread has a core and runs both components there. The timed replay does not
//! model locks. It gives the time of the critical section on caches that other threads write to.
//! Steady rounds through a delay and one station, the lock, then have the throughput of the
//! asymptotic bound (`corehop_simulator::queueing`). With a server, requesting threads have
//! separate cores, and the last core is the server's. A request's critical section runs there,
//! either by messages that load and store lines shared by both cores, or by a hop with the cost of
//! the carrier backend.

use crate::synthetic::{LINE_BYTES, Phase, Step, once, record, setting, simulate, streams};
use corehop_simulator::queueing::{Network, asymptotic};
use corehop_simulator::timing::{Error, Load, Outcome};
use corehop_simulator::{CoreId, Machine, Split};
use corehop_traces::FunctionId;

/// How to run the critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On the thread's core, under a lock.
    Lock,
    /// By a server thread that copies each message and takes one at a time.
    Copying,
    /// The same, but the server reads messages where they were written.
    ZeroCopy,
    /// The same as `ZeroCopy`, but it takes all waiting messages, up to [`BATCH`].
    Batched,
    /// By the thread itself, on the server's core.
    Hop,
}

impl Way {
    pub const ALL: [Way; 5] = [
        Way::Lock,
        Way::Copying,
        Way::ZeroCopy,
        Way::Batched,
        Way::Hop,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Way::Lock => "lock",
            Way::Copying => "copying",
            Way::ZeroCopy => "zero-copy",
            Way::Batched => "batched",
            Way::Hop => "hop",
        }
    }
}

/// The variables; sizes in lines, except for the message's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Number of all threads, including the server.
    pub threads: u32,
    pub local_lines: u64,
    pub section_lines: u64,
    /// Modified lines of the section.
    pub modified_lines: u64,
    pub message_bytes: u64,
}

/// Results of one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Per million cycles in a simulation, per second natively.
    pub rounds: f64,
    /// Sum over all cores, without waiting.
    pub cycles_per_round: f64,
    /// Share of time that the server's core, or the lock, is in use. Natively, the share of
    /// messages that the server finds without waiting.
    pub busy: f64,
    /// L1D misses per round, and lines that stores took from other cores; `None` natively.
    pub counted: Option<[f64; 2]>,
}

/// Maximum number of messages taken together.
pub const BATCH: u64 = 4;

/// Distance between buffers; a multiple of every cache's size.
const SPACING: u64 = 1 << 28;
/// Buffers of lines that threads share: the section, the lock or the queue's ends, the queue's
/// slots, the server's copy, and replies. Threads' messages and own lines follow.
const SECTION: u64 = SPACING;
const LOCK: u64 = 2 * SPACING + BESIDE;
const PLACES: u64 = 3 * SPACING + BESIDE;
const COPY: u64 = 4 * SPACING + 2 * BESIDE;
const REPLIES: u64 = 5 * SPACING + 3 * BESIDE;
const MESSAGES: u64 = 6 * SPACING + 2 * BESIDE;
/// Keeps small buffers from mapping to the same sets.
const BESIDE: u64 = 1 << 14;
/// Rounds of each thread before counting, and while counting.
const ROUNDS: u64 = 32;

/// Simulates one way at one point.
pub fn rates(machine: &Machine, way: Way, point: Point) -> Result<Rates, Error> {
    let all = play(machine, way, point, true)?;
    let round = cycles_per_round(&all);
    let per_round = |count: u64| count as f64 / all.requests as f64;
    let (rounds, busy) = match way {
        Way::Lock => {
            let local = cycles_per_round(&play(machine, way, point, false)?);
            let lock = Network::of_stages(&[round - local], local);
            let rate = asymptotic(&lock, point.threads).most;
            (rate * 1e6, rate * (round - local))
        }
        _ => {
            let server = &all.per_core[point.threads as usize - 1];
            (all.requests_per_million_cycles(), server.utilisation())
        }
    };
    let counters = all.counters();
    Ok(Rates {
        rounds,
        cycles_per_round: round,
        busy,
        counted: Some([counters.l1d.data_misses(), counters.invalidated_lines].map(per_round)),
    })
}

fn cycles_per_round(outcome: &Outcome) -> f64 {
    let busy: u64 = outcome.per_core.iter().map(|core| core.busy_cycles).sum();
    busy as f64 / outcome.requests as f64
}

/// Replays with or without the critical section.
fn play(machine: &Machine, way: Way, point: Point, has_section: bool) -> Result<Outcome, Error> {
    let mut machine = machine.clone();
    machine.set_hop_cost(match way {
        Way::Hop => machine.carried_hop_cycles(),
        _ => 0,
    });
    let clients = match way {
        Way::Lock => point.threads,
        _ => point.threads - 1,
    };
    let threads: Vec<Thread> = (0..clients.into())
        .map(|number| Thread::new(way, point, number))
        .collect();
    let section = clients as usize;
    let phases = threads.iter().enumerate().map(|(number, thread)| {
        let phases = thread.phases(number, section);
        phases
            .into_iter()
            .take(if has_section { usize::MAX } else { 1 })
            .collect()
    });
    let phases: Vec<Vec<Phase<'_>>> = phases.collect();
    let names = vec!["component"; section + 1];
    let trace = record(&names, &phases)?;
    // Each client's function is on its own core, and the section on the last.
    let split = match way {
        Way::Lock => Split::default(),
        _ => Split::new((0..=clients).map(|number| (FunctionId(number), CoreId(number)))),
    };
    let streams = streams(&trace, &split)?;
    let scheduler = if way == Way::Lock { "pinned" } else { "split" };
    let rounds = ROUNDS * u64::from(clients);
    let on = (scheduler, point.threads);
    let mut setting = setting(&machine, &split, on, clients as usize, (rounds, rounds));
    if way == Way::Lock {
        // Threads with different think times are seldom in the section together.
        setting.load = Load::Closed {
            think_cycles: point.local_lines * u64::from(machine.l2.latency_cycles),
            exponential: true,
        };
    }
    simulate(&streams, &setting)
}

/// Steps of one thread in a round.
struct Thread {
    local: Vec<Step>,
    /// Writes the message, and reserves a slot in the queue.
    sends: Vec<Step>,
    /// Removes the message from the queue.
    takes: Vec<Step>,
    section: Vec<Step>,
    replies: Vec<Step>,
    receives: Vec<Step>,
}

impl Thread {
    fn new(way: Way, point: Point, number: u64) -> Thread {
        let own = MESSAGES + (2 * number + 1) * SPACING;
        let reply = REPLIES + number * LINE_BYTES;
        let place = PLACES + number * LINE_BYTES;
        let lines = |at: u64| {
            let count = point.message_bytes.div_ceil(LINE_BYTES);
            (0..count).map(move |line| at + line * LINE_BYTES)
        };
        let message = own + SPACING + 2 * BESIDE;
        let (mut sends, mut takes, mut replies, mut receives) = Default::default();
        match way {
            Way::Lock => (takes, replies) = (vec![write(LOCK)], vec![write(LOCK)]),
            Way::Hop => {}
            Way::Copying | Way::ZeroCopy | Way::Batched => {
                sends = lines(message).chain([LOCK, place]).map(write).collect();
                // Only the first of several messages taken together accesses the queue's ends.
                if way != Way::Batched || number.is_multiple_of(BATCH) {
                    takes.push(write(LOCK));
                }
                takes.push(read(place));
                match way {
                    Way::Copying => takes.extend(
                        lines(message)
                            .zip(lines(COPY))
                            .flat_map(|(from, to)| [read(from), write(to)]),
                    ),
                    _ => takes.extend(lines(message).take(1).map(read)),
                }
                (replies, receives) = (vec![write(reply)], vec![read(reply)]);
            }
        }
        Thread {
            local: once(own, point.local_lines, 0, number + 2),
            sends,
            takes,
            section: once(SECTION, point.section_lines, point.modified_lines, 1),
            replies,
            receives,
        }
    }

    /// Returns the local component and all following phases.
    fn phases(&self, number: usize, section: usize) -> Vec<Phase<'_>> {
        let phase = |function, steps, is_chained| Phase {
            function,
            steps,
            is_chained,
        };
        let mut phases = vec![phase(number, &self.local[..], true)];
        phases.extend([
            phase(number, &self.sends[..], false),
            phase(section, &self.takes[..], false),
            phase(section, &self.section[..], true),
            phase(section, &self.replies[..], false),
            phase(number, &self.receives[..], false),
        ]);
        phases
    }
}

fn read(address: u64) -> Step {
    Step {
        address,
        is_written: false,
    }
}

fn write(address: u64) -> Step {
    Step {
        address,
        is_written: true,
    }
}
