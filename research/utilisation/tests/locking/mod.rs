//! An event simulation, independent of the formulas: threads that take locks on too few cores. All
//! queues are first come, first served.

use crate::events::{Agenda, Batches, Measured, Times};
use std::collections::VecDeque;

/// The part that a thread has completed.
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
