//! Native threads that take locks, compared with two models of the number of cores they use.
//!
//! `make bench-utilisation` runs it completely: a table, and one JSON object in the last line. The
//! program is Algorithm 1 of Barghi's thesis ("Improving the Performance of User-level Runtime
//! Systems for Concurrent Applications", University of Waterloo): each thread works outside of any
//! lock, picks one of L locks at random, acquires it, works for the same time again and releases
//! it. Work is a loop with a fixed number of steps, as many as one thread takes in the wanted time.
//! A thread that has lost its core thus does not count the time as work. Measured utilisation is
//! iterations of all threads divided by those of one thread (figure 6.3 of the thesis).
//! Configurations alternate, round after round, so that other load on the machine affects all
//! equally. Without arguments, as under `cargo test`, each runs once and briefly, to check that it
//! still works.

use corehop_utilisation::{Analytic, LockedProgram, Probabilistic, Waiting};
use serde_json::{Value, json};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::{available_parallelism, scope, sleep};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Duration and number of runs of each configuration.
struct Effort {
    rounds: usize,
    run: Duration,
    /// Time of a critical section, and of the rest of an iteration.
    work_us: &'static [u32],
    locks: &'static [u32],
    threads: &'static [u32],
}

const WHOLE: Effort = Effort {
    rounds: 9,
    run: Duration::from_millis(200),
    work_us: &[10, 1000],
    locks: &[1, 2, 16],
    threads: &[1, 2, 3, 4, 8, 16],
};

const BRIEF: Effort = Effort {
    rounds: 1,
    run: Duration::from_millis(2),
    work_us: &[10],
    locks: &[1, 16],
    threads: &[1, 3],
};

/// One row of the table.
struct Configuration {
    work_us: u32,
    locks: u32,
    threads: u32,
    waiting: Waiting,
    /// Iterations per second, for each round.
    rates: Vec<f64>,
}

/// A lock of either kind; each is on separate lines.
#[repr(align(128))]
enum Lock {
    Blocking(Mutex<()>),
    Spinning(AtomicBool),
}

/// Iterations of one thread, on separate lines.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let effort = if is_whole { WHOLE } else { BRIEF };
    let cores = u32::try_from(available_parallelism()?.get())?;
    let steps_per_us = calibrated(Duration::from_millis(if is_whole { 200 } else { 2 }));
    let mut configurations = configurations(&effort);
    for _ in 0..effort.rounds {
        for configuration in &mut configurations {
            configuration.run(effort.run, steps_per_us);
        }
    }
    println!(
        "{cores} CPUs, {} rounds in turn; cores that threads use for work: median and quartiles, \
         and what the models say\n",
        effort.rounds
    );
    println!(
        "{:>7}{:>7}{:>9}  {:<10}{:>9}{:>9}{:>9}{:>9}{:>15}",
        "work us",
        "locks",
        "threads",
        "waiting",
        "measured",
        "quarter",
        "quarter",
        "network",
        "probabilistic"
    );
    let rows: Vec<Value> = configurations
        .iter()
        .map(|of| row(of, alone(&configurations, of), cores))
        .collect();
    println!("\n{}", json!({ "cpus": cores, "rows": rows }));
    Ok(())
}

fn configurations(effort: &Effort) -> Vec<Configuration> {
    let mut all = Vec::new();
    for &work_us in effort.work_us {
        for &locks in effort.locks {
            for waiting in [Waiting::Blocking, Waiting::Spinning] {
                all.extend(effort.threads.iter().map(|&threads| Configuration {
                    work_us,
                    locks,
                    threads,
                    waiting,
                    rates: Vec::new(),
                }));
            }
        }
    }
    all
}

/// Returns one thread's median with the same locks.
fn alone(configurations: &[Configuration], of: &Configuration) -> f64 {
    let like = |other: &&Configuration| {
        let key = |it: &Configuration| (it.work_us, it.locks, it.waiting);
        other.threads == 1 && key(other) == key(of)
    };
    let one = configurations.iter().find(like);
    one.map_or(f64::NAN, |one| one.quartiles()[1])
}

/// Prints a row of the table, and returns it as JSON.
fn row(of: &Configuration, alone: f64, cores: u32) -> Value {
    let time = f64::from(of.work_us);
    let program = LockedProgram {
        locks: of.locks,
        t_cs: time,
        t_ncs: time,
    };
    let [low, measured, high] = of.quartiles().map(|rate| rate / alone);
    let network = Analytic { program }.utilisation_on(cores, of.threads, of.waiting);
    let probabilistic = Probabilistic { program }.utilisation(of.threads);
    let probabilistic = probabilistic.min(f64::from(cores));
    let waiting = match of.waiting {
        Waiting::Blocking => "blocking",
        Waiting::Spinning => "spinning",
    };
    println!(
        "{:>7}{:>7}{:>9}  {waiting:<10}{measured:>9.2}{low:>9.2}{high:>9.2}{network:>9.2}\
         {probabilistic:>15.2}",
        of.work_us, of.locks, of.threads
    );
    json!({
        "work_us": of.work_us, "locks": of.locks, "threads": of.threads, "waiting": waiting,
        "measured": measured, "quartiles": [low, high],
        "network": network, "probabilistic": probabilistic,
    })
}

/// Keeps the CPU busy for this many steps, each of which depends on the previous one.
fn work(steps: u64) {
    let mut state = black_box(1u64);
    for _ in 0..steps {
        state = black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
    black_box(state);
}

/// Returns steps per microsecond: the fastest of some tries, because disturbances only make a try
/// slower.
fn calibrated(budget: Duration) -> f64 {
    const STEPS: u64 = 100_000;
    let begun = Instant::now();
    let mut fastest = f64::INFINITY;
    while fastest.is_infinite() || begun.elapsed() < budget {
        let begun = Instant::now();
        work(STEPS);
        fastest = fastest.min(begun.elapsed().as_secs_f64() * 1e6);
    }
    STEPS as f64 / fastest
}

impl Configuration {
    /// Runs all threads for this duration and records their rate.
    fn run(&mut self, duration: Duration, steps_per_us: f64) {
        let steps = (f64::from(self.work_us) * steps_per_us) as u64;
        let lock = |_| match self.waiting {
            Waiting::Blocking => Lock::Blocking(Mutex::new(())),
            Waiting::Spinning => Lock::Spinning(AtomicBool::new(false)),
        };
        let locks: Vec<Lock> = (0..self.locks).map(lock).collect();
        let done: Vec<Counter> = (0..self.threads).map(|_| Counter::default()).collect();
        let over = AtomicBool::new(false);
        let together = Barrier::new(self.threads as usize + 1);
        let (locks, over, together) = (&locks, &over, &together);
        let rate = scope(|scope| {
            for (number, done) in (1..).zip(&done) {
                scope.spawn(move || iterate(number, steps, (locks, done), over, together));
            }
            together.wait();
            let begun = Instant::now();
            // A brief run continues until there is an iteration.
            let all = loop {
                sleep(duration);
                let all: u64 = done.iter().map(|of| of.0.load(Ordering::Relaxed)).sum();
                if all > 0 {
                    break all;
                }
            };
            let elapsed = begun.elapsed();
            over.store(true, Ordering::Relaxed);
            all as f64 / elapsed.as_secs_f64()
        });
        self.rates.push(rate);
    }

    /// Returns the quartiles of the rates, in ascending order.
    fn quartiles(&self) -> [f64; 3] {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        [1, 2, 3].map(|quarter| rates[(rates.len() - 1) * quarter / 4])
    }
}

/// Runs Algorithm 1 until the end of the run.
fn iterate(
    number: u64,
    steps: u64,
    (locks, done): (&[Lock], &Counter),
    over: &AtomicBool,
    together: &Barrier,
) {
    // A separate multiplicative sequence for each thread is random enough.
    let mut random = number << 32;
    together.wait();
    while !over.load(Ordering::Relaxed) {
        work(steps);
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        locks[(random >> 33) as usize % locks.len()].hold_while(|| work(steps));
        done.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Lock {
    fn hold_while(&self, work: impl FnOnce()) {
        match self {
            Lock::Blocking(mutex) => {
                let _held = mutex.lock();
                work();
            }
            Lock::Spinning(is_held) => {
                // A thread tries to store only after it sees the lock free, so that waiting
                // invalidates no lines of others.
                while is_held.load(Ordering::Relaxed) || is_held.swap(true, Ordering::Acquire) {
                    spin_loop();
                }
                work();
                is_held.store(false, Ordering::Release);
            }
        }
    }
}
