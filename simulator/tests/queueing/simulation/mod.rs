//! An event simulation that knows nothing of formulas: customers who go round through stations.
//! Everybody waits in order of arrival.

use super::events::{Agenda, Batches, Measured, Times};
use std::collections::VecDeque;

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
