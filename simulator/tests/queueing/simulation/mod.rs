//! An event simulation, independent of the formulas, of customers that visit stations in rounds.
//! All queues are first come, first served.

use super::events::{Agenda, Batches, Measured, Times};
use std::collections::VecDeque;

/// A station: its mean service time, its free servers, and the waiting customers.
struct Queue {
    mean: f64,
    free: u32,
    waiting: VecDeque<u32>,
}

/// Simulates customers that think and then visit all stations in order, in batches of this
/// duration.
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
    // An event ends a customer's thinking (place 0) or its service at the station before the place.
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
