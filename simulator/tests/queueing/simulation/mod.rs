//! Two event simulations that know nothing of formulas: customers who go round through stations,
//! and threads that take locks on too few cores. Everybody waits in order of arrival.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How times vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    Exponential,
    /// All alike.
    Constant,
}

/// Rounds per unit of time: the mean of batches of equal length, and its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub mean: f64,
    pub standard_error: f64,
}

/// Batches that are counted, after one that is not.
pub const BATCHES: usize = 20;

/// Events to come, earliest first; of equally early ones the first that was told of.
struct Agenda<E> {
    now: f64,
    told: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    what: Vec<E>,
    random: ChaCha8Rng,
    times: Times,
}

impl<E: Copy> Agenda<E> {
    fn new(seed: u64, times: Times) -> Self {
        Agenda {
            now: 0.0,
            told: 0,
            events: BinaryHeap::new(),
            what: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
            times,
        }
    }

    /// Something happens after a time of this mean.
    fn after(&mut self, mean: f64, event: E) {
        let time = match self.times {
            Times::Constant => mean,
            Times::Exponential => {
                let uniform: f64 = self.random.random();
                -(1.0 - uniform).ln() * mean
            }
        };
        // The bits of numbers that are not negative are in their order.
        let at = (self.now + time).to_bits();
        self.events.push(Reverse((at, self.told)));
        self.what.push(event);
        self.told += 1;
    }

    fn next(&mut self) -> E {
        let Reverse((at, told)) = self.events.pop().expect("customers never leave");
        self.now = f64::from_bits(at);
        self.what[told as usize]
    }

    fn pick(&mut self, of: u32) -> usize {
        self.random.random_range(0..of) as usize
    }
}

/// Counts rounds by batch.
struct Batches {
    length: f64,
    rounds: Vec<u64>,
}

impl Batches {
    fn new(length: f64) -> Batches {
        Batches {
            length,
            rounds: vec![0; BATCHES + 1],
        }
    }

    /// A round ends; whether that was in a batch.
    fn count(&mut self, now: f64) -> bool {
        let batch = self.rounds.get_mut((now / self.length) as usize);
        batch.map(|rounds| *rounds += 1).is_some()
    }

    fn measured(&self) -> Measured {
        let rates = self.rounds[1..].iter();
        let rates: Vec<f64> = rates.map(|&rounds| rounds as f64 / self.length).collect();
        let number = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / number;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        Measured {
            mean,
            standard_error: (squares / (number - 1.0) / number).sqrt(),
        }
    }
}

/// A station: its mean time of service, servers, and who waits.
struct Queue {
    mean: f64,
    free: u32,
    waiting: VecDeque<u32>,
}

/// Customers think, then go through all stations in turn, in batches of so much time.
pub fn rounds(
    stations: &[(f64, u32)],
    think_time: f64,
    (customers, times): (u32, Times),
    batch: f64,
) -> Measured {
    let mut queues: Vec<Queue> = stations
        .iter()
        .map(|&(mean, free)| Queue {
            mean,
            free,
            waiting: VecDeque::new(),
        })
        .collect();
    // A customer has ended its thinking (place 0) or its service at the station before the place.
    let mut agenda = Agenda::new(1, times);
    let mut batches = Batches::new(batch);
    for customer in 0..customers {
        agenda.after(think_time, (customer, 0));
    }
    loop {
        let (customer, place) = agenda.next();
        if place > 0 {
            let left = &mut queues[place - 1];
            left.free += 1;
            if let Some(next) = left.waiting.pop_front() {
                left.free -= 1;
                agenda.after(left.mean, (next, place));
            }
        }
        if place == queues.len() {
            if !batches.count(agenda.now) {
                return batches.measured();
            }
            agenda.after(think_time, (customer, 0));
            continue;
        }
        let reached = &mut queues[place];
        match reached.free {
            0 => reached.waiting.push_back(customer),
            _ => {
                reached.free -= 1;
                agenda.after(reached.mean, (customer, place + 1));
            }
        }
    }
}

/// What a thread has ended.
#[derive(Clone, Copy)]
enum Ended {
    Rest(u32),
    Critical(u32, usize),
}

/// Algorithm 1 of the thesis on `cores` cores. Threads leave their core while they wait for a lock.
pub struct Locking {
    pub locks: u32,
    pub t_cs: f64,
    pub t_ncs: f64,
    pub cores: u32,
    pub threads: u32,
}

impl Locking {
    pub fn iterations(&self, batch: f64) -> Measured {
        let mut agenda = Agenda::new(1, Times::Exponential);
        let mut batches = Batches::new(batch);
        let mut free_cores = self.cores;
        let mut want_core: VecDeque<Ended> = (0..self.threads).map(Ended::Rest).collect();
        let mut held = vec![false; self.locks as usize];
        let mut want_lock = vec![VecDeque::new(); self.locks as usize];
        loop {
            while free_cores > 0
                && let Some(work) = want_core.pop_front()
            {
                free_cores -= 1;
                let mean = match work {
                    Ended::Rest(_) => self.t_ncs,
                    Ended::Critical(..) => self.t_cs,
                };
                agenda.after(mean, work);
            }
            let ended = agenda.next();
            free_cores += 1;
            match ended {
                Ended::Rest(thread) => {
                    let lock = agenda.pick(self.locks);
                    match held[lock] {
                        true => want_lock[lock].push_back(thread),
                        false => want_core.push_back(Ended::Critical(thread, lock)),
                    }
                    held[lock] = true;
                }
                Ended::Critical(thread, lock) => {
                    match want_lock[lock].pop_front() {
                        Some(next) => want_core.push_back(Ended::Critical(next, lock)),
                        None => held[lock] = false,
                    }
                    want_core.push_back(Ended::Rest(thread));
                    if !batches.count(agenda.now) {
                        return batches.measured();
                    }
                }
            }
        }
    }
}
