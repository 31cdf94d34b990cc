//! Replays recorded programs step by step, with the oracle: which core each thread is on, where its
//! memory is, and when counting begins, each found the obvious way.

use crate::located::located;
use crate::oracle::Oracle;
use crate::oracle::calls::{Seen, after_gaps, ends_of_calls};
use crate::recording::{FIRST_LONG, code_address, requests_of};
use crate::steps::Step;
use corehop_simulator::{Counters, Machine};
use corehop_traces::{Kind, Mapping};

/// What moves threads, and where their memory is.
pub struct Placed {
    /// None for threads of one process.
    pub mappings: Vec<Mapping>,
    /// Of the requests.
    pub numbers: Vec<u64>,
    pub functions: Vec<(u32, u32)>,
    pub delegated: Vec<u32>,
    pub start_cores: Option<u32>,
}

/// Counters and hops as the oracle has them, of the same steps so many times over.
pub fn naive(
    steps: &[Step],
    machine: &Machine,
    placed: &Placed,
    (chosen, warm_up): (Option<&[u32]>, usize),
    rounds: usize,
) -> (Vec<Counters>, u64) {
    let (split, start_cores) = (&placed.functions, placed.start_cores);
    let ends = ends_of_calls(&seen(steps, &placed.numbers));
    let cores = split.iter().map(|(_, core)| core + 1).max().unwrap_or(1);
    let cores = cores.max(start_cores.unwrap_or(1));
    let mut oracle = Oracle::new(machine, cores);
    let requests = requests_of(steps);
    let mut order: Vec<u32> = requests.iter().flatten().copied().collect();
    order.sort();
    order.dedup();
    order.retain(|request| chosen.is_none_or(|chosen| chosen.contains(request)));
    let (mut core_of, mut hops, mut counting) = ([0; 2], 0, warm_up == 0);
    core_of[1] = 1 % start_cores.unwrap_or(1) as usize;
    let mut open: [Vec<(Option<usize>, usize)>; 2] = Default::default();
    for (place, (step, request)) in
        (0..rounds).flat_map(|_| steps.iter().zip(&requests).enumerate())
    {
        if place == 0 {
            // Whatever is open ends when the steps begin again.
            open.iter_mut().flatten().for_each(|open| open.0 = Some(0));
        }
        if chosen.is_some() && !request.is_some_and(|request| order.contains(&request)) {
            continue;
        }
        if !counting && request.is_some_and(|request| request >= order[warm_up]) {
            counting = true;
            hops = 0;
            oracle.start_counting();
        }
        let (core, open) = (
            &mut core_of[step.thread as usize],
            &mut open[step.thread as usize],
        );
        let before = *core;
        while let Some(&(Some(end), came_from)) = open.last()
            && end <= place
        {
            open.pop();
            *core = came_from;
        }
        for &(function, target) in split {
            if function == step.block {
                if placed.delegated.contains(&function) {
                    open.push((ends[place], *core));
                }
                *core = target as usize;
            }
        }
        if *core != before {
            hops += 1;
            oracle.charge(*core, machine.hop_cost_cycles);
        }
        let located = |address| match &placed.mappings[..] {
            [] => address,
            mappings => located(mappings, place as u64 + 1, step.thread + 1, address),
        };
        oracle.reference(*core, Kind::Fetch, located(code_address(step.block)), 4);
        for &(address, store) in &step.data {
            let kind = if store { Kind::Store } else { Kind::Load };
            oracle.reference(*core, kind, located(address), 8);
        }
    }
    (oracle.counters(), hops)
}

/// What of these steps says where calls end.
fn seen(steps: &[Step], numbers: &[u64]) -> Vec<Seen> {
    let requests = steps.iter().filter(|step| step.begins_request);
    let served: Vec<(u32, u64)> = requests
        .zip(numbers)
        .map(|(step, &number)| (step.thread, number))
        .collect();
    let mut gaps = after_gaps(&served).into_iter();
    let seen = |step: &Step| Seen {
        thread: step.thread,
        block: step.block,
        short: step.block < FIRST_LONG,
        last: step.data.last().copied(),
        after_gap: step.begins_request && gaps.next().unwrap_or(false),
    };
    steps.iter().map(seen).collect()
}
