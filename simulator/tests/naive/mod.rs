//! Replays recorded programs step by step with the oracle. Thread positions, memory addresses, and
//! the start of counting are each computed naively.

#![allow(dead_code)] // Each test uses its part.

use crate::homes::Known;
use crate::located::{located, physical};
use crate::oracle::calls::{Seen, after_gaps, ends_of_calls};
use crate::oracle::paging::{Paging, Region};
use crate::oracle::{Oracle, PageMap};
use crate::recording::{DISTANCES, FIRST_LONG, code_address, requests_of};
use crate::steps::Step;
use corehop_simulator::{Counters, Machine};
use corehop_traces::{Kind, Mapping, Page};

/// What moves threads, and the addresses of their memory.
pub struct Placed {
    /// Empty for threads of one process.
    pub mappings: Vec<Mapping>,
    /// Physical pages that identify lines, if there are any.
    pub pages: Vec<Page>,
    /// Numbers of the requests.
    pub numbers: Vec<u64>,
    pub functions: Vec<(u32, u32)>,
    /// Functions that select their core by argument 1, the number of cores for their objects, and
    /// for each function the calls after which an object gets a core.
    pub by_argument: (Vec<u32>, u32, Vec<u32>),
    /// Calls of a request at which functions move to a core: function, core, call.
    pub at_calls: Vec<(u32, u32, u32)>,
    pub delegated: Vec<u32>,
    pub start_cores: Option<u32>,
    /// The page map of the L2s, if any.
    pub page_map: Option<PageMap>,
    /// Regions with large pages; `None` if addresses are not translated.
    pub translated: Option<Vec<Region>>,
}

impl Placed {
    /// Returns the number of cores that threads use.
    fn cores(&self) -> u32 {
        let fixed = self.functions.iter().map(|(_, core)| core + 1);
        let at_calls = self.at_calls.iter().map(|(_, core, _)| core + 1);
        let objects = match self.by_argument.0.is_empty() {
            true => 1,
            false => self.by_argument.1,
        };
        let most = fixed.chain(at_calls).max().unwrap_or(1);
        most.max(objects).max(self.start_cores.unwrap_or(1))
    }

    /// Returns the location of a thread's address at a stamp: in physical memory, or in a process's
    /// memory.
    fn located(&self, stamp: u64, thread: u32, address: u64) -> u64 {
        let process = if self.mappings.is_empty() {
            1
        } else {
            thread + 1
        };
        let physical = physical(&self.pages, stamp, process, address);
        physical.unwrap_or_else(|| match &self.mappings[..] {
            [] => address,
            mappings => located(mappings, stamp, process, address),
        })
    }
}

/// Returns the oracle's counters and hops after repeating the same steps `rounds` times.
pub fn naive(
    steps: &[Step],
    machine: &Machine,
    placed: &Placed,
    counted: (Option<&[u32]>, usize),
    rounds: usize,
) -> (Vec<Counters>, u64) {
    let (oracle, hops) = played(steps, machine, placed, counted, rounds);
    (oracle.counters(), hops)
}

/// Returns the oracle after these steps, and the hops.
pub fn played(
    steps: &[Step],
    machine: &Machine,
    placed: &Placed,
    (chosen, warm_up): (Option<&[u32]>, usize),
    rounds: usize,
) -> (Oracle, u64) {
    let start_cores = placed.start_cores;
    let ends = ends_of_calls(&seen(steps, &placed.numbers));
    let cores = placed.cores();
    let targets = targets(steps, placed, cores.into());
    let mut oracle = Oracle::new(machine, cores);
    placed.page_map.iter().for_each(|map| oracle.map_pages(map));
    if let Some(regions) = &placed.translated {
        let translation = machine.translation.as_ref().unwrap();
        oracle.translate(Paging::new(translation, regions, cores as usize));
    }
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
            // Open calls end when the steps are repeated.
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
        if let Some(target) = targets[place] {
            if placed.delegated.contains(&step.block) {
                open.push((ends[place], *core));
            }
            *core = target.unwrap_or(*core);
        }
        if *core != before {
            hops += 1;
            oracle.charge(*core, machine.hop_cost_cycles);
        }
        let located = |address| placed.located(place as u64 + 1, step.thread, address);
        oracle.reference(*core, Kind::Fetch, located(code_address(step.block)), 4);
        for &(address, store) in &step.data {
            let kind = if store { Kind::Store } else { Kind::Load };
            oracle.reference(*core, kind, located(address), 8);
        }
    }
    (oracle, hops)
}

/// For each step that enters a function of the plan, returns its destination core, or `None` inside
/// if the thread stays.
fn targets(steps: &[Step], placed: &Placed, cores: u64) -> Vec<Option<Option<usize>>> {
    let homes = homes(steps, placed, cores);
    let meant = meant(steps, placed);
    let target = |(place, step): (usize, &Step)| {
        if placed.by_argument.0.contains(&step.block) {
            return Some(homes[place]);
        }
        let mut at_calls = placed.at_calls.iter();
        if at_calls.any(|(function, ..)| *function == step.block) {
            return Some(meant[place]);
        }
        let mut fixed = placed.functions.iter();
        let fixed = fixed.find(|(function, _)| *function == step.block);
        fixed.map(|&(_, core)| Some(core as usize))
    };
    steps.iter().enumerate().map(target).collect()
}

/// For each step, returns the core of the object of a call that selects its core by an argument.
fn homes(steps: &[Step], placed: &Placed, cores: u64) -> Vec<Option<usize>> {
    let mut processes = [Known::default(), Known::default()];
    let home = |(place, step): (usize, &Step)| {
        if !placed.by_argument.0.contains(&step.block) {
            return None;
        }
        let argument = argument_of(steps, place)?;
        let thread = step.thread as usize;
        let process = if placed.mappings.is_empty() {
            0
        } else {
            thread
        };
        let after = placed.by_argument.2[step.block as usize];
        let core = processes[process].name(thread, argument, (cores, after.into()))?;
        Some(core as usize)
    };
    steps.iter().enumerate().map(home).collect()
}

/// For each step, returns the destination core of a call that is selected in its request.
fn meant(steps: &[Step], placed: &Placed) -> Vec<Option<usize>> {
    let requests = requests_of(steps);
    let meant = |(place, step): (usize, &Step)| {
        let request = requests[place]?;
        let so_far = (0..=place).filter(|&other| {
            let thread = steps[other].thread == step.thread;
            thread && steps[other].block == step.block && requests[other] == Some(request)
        });
        let own = (step.block, so_far.count());
        let mut calls = placed.at_calls.iter();
        let found = calls.find(|&&(function, _, call)| (function, call as usize) == own)?;
        Some(found.1 as usize)
    };
    steps.iter().enumerate().map(meant).collect()
}

/// Returns argument 1 of the call that a step begins, if the thread's next steps reveal it.
fn argument_of(steps: &[Step], place: usize) -> Option<u64> {
    let requests = requests_of(steps);
    let own = (place..steps.len()).filter(|&later| steps[later].thread == steps[place].thread);
    // The offsets from the argument that the registers hold.
    let (mut rdi, mut rbx) = (Some(0), None);
    for later in own.take(64) {
        if requests[later] != requests[place] {
            return None;
        }
        let step = &steps[later];
        let from = match step.block {
            0 => rdi.map(|rdi| rdi + DISTANCES[0]),
            1 => rdi.map(|rdi| rdi + DISTANCES[1]),
            3 => rbx,
            _ => None,
        };
        if let (Some(from), Some(&(address, _))) = (from, step.data.first()) {
            return Some(address.wrapping_add_signed(-from));
        }
        (rdi, rbx) = match step.block {
            1 => (rdi, None),
            2 => (None, rdi.map(|rdi| rdi + DISTANCES[2])),
            4 => (None, rbx),
            _ => (rdi, rbx),
        };
    }
    None
}

/// Converts these steps to the input for computing the ends of calls.
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
        behind: None,
        last: step.data.last().copied(),
        after_gap: step.begins_request && gaps.next().unwrap_or(false),
    };
    steps.iter().map(seen).collect()
}
