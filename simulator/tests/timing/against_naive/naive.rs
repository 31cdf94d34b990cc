//! A second implementation of the timed replay by docs/reference/timed.md, as slow and simple as
//! possible.
//!
//! It stores nothing that can be recomputed: the next event is found by querying all cores and
//! clients before each turn. The caches are those of the simulator's oracle; [`reference`] makes
//! one reference.

mod reference;

use crate::timing::against_naive::case::Case;
use crate::timing::against_naive::core::Core;
use crate::timing::against_naive::policy::{By, Policy};
use crate::timing::against_naive::predictors::Naive as Predictors;
use crate::timing::against_naive::prefetches::Prefetches;
use crate::timing::against_naive::program::{Action, Script};
use crate::timing::oracle::paging::Paging;
use crate::timing::oracle::{Oracle, PageMap};
use corehop_simulator::timing::{CoreOutcome, Load, Outcome};
use corehop_simulator::{Machine, TlbCounters};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;
use std::rc::Rc;

struct Client<'a> {
    script: &'a Script,
    /// Request, action in it, reference in that.
    at: (usize, usize, usize),
    /// Whether the current action has been entered.
    entered: bool,
    stage: u32,
    /// End of each open call, the stage before it, and the called function.
    open: Vec<(Option<usize>, u32, u32)>,
    /// Why it last began to wait for a core.
    came_by: By,
    core: usize,
    /// Arrival cycles of requests that have not ended.
    came: Vec<u64>,
    /// While it waits for a core: the core, since when, and whether by a hop.
    waits: Option<(usize, u64, bool)>,
    free_since: u64,
    random: ChaCha8Rng,
}

pub struct Naive<'a> {
    pub case: &'a Case,
    pub cores: Vec<Core>,
    clients: Vec<Client<'a>>,
    caches: Oracle,
    prefetches: Prefetches,
    /// The branch predictors of each core.
    predictors: Vec<Predictors>,
    /// Cycle and connection.
    coming: Vec<(u64, usize)>,
    open_loop: ChaCha8Rng,
    /// The connection that last looked up a line in an L2.
    owners: HashMap<(usize, u64), usize>,
    evictions: Vec<Vec<u64>>,
    /// Arrival and end of requests.
    ended: Vec<(u64, u64)>,
    /// The cycle since which requests count, once counting has begun.
    since: Option<u64>,
}

pub fn naive(case: &Case, scripts: &[Script]) -> Outcome {
    let connections = case.connections(scripts.len());
    let mut policy = (case.policy)(case, scripts);
    let generator = |stream| {
        let mut random = ChaCha8Rng::seed_from_u64(case.seed);
        random.set_stream(stream);
        random
    };
    let client = |connection: usize| {
        let script = &scripts[connection % scripts.len()];
        let same = |other: &usize| other % scripts.len() == connection % scripts.len();
        let (before, all) = (
            (0..connection).filter(same).count(),
            (0..connections).filter(same).count(),
        );
        Client {
            script,
            at: (before * script.len() / all, 0, 0),
            entered: false,
            stage: 0,
            open: Vec::new(),
            came_by: By::Request,
            core: policy.first_core(case, connection),
            came: Vec::new(),
            waits: None,
            free_since: 0,
            random: generator(connection as u64 + 1),
        }
    };
    let mut caches = Oracle::new(&case.machine, case.cores);
    if case.translates {
        let translation = case.machine.translation.as_ref().unwrap();
        caches.translate(Paging::new(translation, &case.regions, case.cores as usize));
    }
    if let Some(seed) = case.random_pages {
        let map: PageMap = Rc::new(move |page| anywhere(page, seed));
        caches.map_pages(&map);
    }
    let mut naive = Naive {
        case,
        cores: vec![Core::of(case); case.cores as usize],
        clients: (0..connections).map(client).collect(),
        caches,
        prefetches: Prefetches::new(case.cores as usize),
        predictors: vec![Predictors::default(); case.cores as usize],
        coming: Vec::new(),
        open_loop: generator(0),
        owners: HashMap::new(),
        evictions: vec![vec![0; connections]; connections],
        ended: Vec::new(),
        since: (case.warm_up == 0).then_some(0),
    };
    match case.load {
        Load::Closed { .. } => (0..connections).for_each(|c| naive.think(c, 0)),
        Load::Open { .. } => naive.draw(0),
    }
    while (naive.ended.len() as u64) < case.warm_up + case.requests {
        naive.step(&mut *policy);
    }
    naive.outcome()
}

/// Returns the page whose L2 sets a page uses, by the definition of SplitMix64: a number is added
/// to the state, and the sum is mixed.
fn anywhere(page: u64, seed: u64) -> u64 {
    let output = |state: u64| {
        let mut mixed = state.wrapping_add(11_400_714_819_323_198_485);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(13_787_848_793_156_543_929);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(10_723_151_780_598_845_931);
        mixed ^ (mixed >> 31)
    };
    output(page.wrapping_add(output(seed)))
}

fn exponential(random: &mut ChaCha8Rng, mean: f64) -> u64 {
    let uniform: f64 = random.random();
    (mean * -(1.0 - uniform).ln()).round() as u64
}

impl Naive<'_> {
    /// Returns the threads that wait for `core`, in order: since when, and the connection.
    pub fn waiting_for(&self, core: usize) -> Vec<(u64, usize)> {
        let waits = |(number, client): (usize, &Client<'_>)| {
            let (on, since, _) = client.waits?;
            (on == core).then_some((since, number))
        };
        let mut waiting: Vec<_> = self.clients.iter().enumerate().filter_map(waits).collect();
        waiting.sort();
        waiting
    }

    fn think(&mut self, connection: usize, since: u64) {
        if let Load::Closed {
            think_cycles,
            exponential: is_drawn,
        } = self.case.load
        {
            let random = &mut self.clients[connection].random;
            let cycles = match is_drawn {
                true => exponential(random, think_cycles as f64),
                false => think_cycles,
            };
            self.coming.push((since + cycles, connection));
        }
    }

    fn draw(&mut self, since: u64) {
        if let Load::Open {
            requests_per_million_cycles,
        } = self.case.load
        {
            let cycle = since + exponential(&mut self.open_loop, 1e6 / requests_per_million_cycles);
            let connection = self.open_loop.random_range(0..self.clients.len() as u64);
            self.coming.push((cycle, connection as usize));
        }
    }

    /// Returns the queues from which an idle core with an empty queue may take.
    fn others(&self, policy: &dyn Policy, core: usize) -> Vec<usize> {
        let others = 0..self.cores.len();
        let may = |&from: &usize| {
            let busy = self.cores[from].runs.is_some() && !self.waiting_for(from).is_empty();
            from != core && busy && policy.may_take(self.case, core, from)
        };
        others.filter(may).collect()
    }

    fn turn_of(&self, policy: &dyn Policy, core: usize) -> Option<u64> {
        let clock = self.cores[core].clock.cycle();
        if self.cores[core].runs.is_some() {
            return Some(clock);
        }
        let mut ready: Vec<u64> = self.waiting_for(core).iter().map(|w| w.0).collect();
        if ready.is_empty() {
            let others = self.others(policy, core);
            ready = others
                .iter()
                .map(|&from| self.waiting_for(from)[0].0)
                .collect();
        }
        Some(clock.max(*ready.iter().min()?))
    }

    /// Executes the next turn of a core, or sends the next request.
    fn step(&mut self, policy: &mut dyn Policy) {
        let turns = 0..self.cores.len();
        let turns = turns.filter_map(|core| Some((self.turn_of(policy, core)?, core)));
        let turn = turns.min();
        let comes = self.coming.iter().min().copied();
        match (turn, comes) {
            (Some((cycle, core)), comes) if comes.is_none_or(|comes| cycle < comes.0) => {
                self.turn(policy, core, cycle);
            }
            (_, comes) => {
                let (cycle, connection) = comes.unwrap();
                self.coming.retain(|&coming| coming != (cycle, connection));
                self.draw(cycle);
                let client = &mut self.clients[connection];
                client.came.push(cycle);
                if client.came.len() == 1 {
                    client.came_by = By::Request;
                    client.waits = Some((client.core, cycle.max(client.free_since), false));
                }
            }
        }
    }

    fn turn(&mut self, policy: &mut dyn Policy, core: usize, cycle: u64) {
        if self.cores[core].runs.is_none() {
            self.take(policy, core, cycle);
        }
        let connection = self.cores[core].runs.unwrap();
        loop {
            let client = &self.clients[connection];
            let (request, action, _) = client.at;
            if action == client.script[request].len() {
                let clock = self.cores[core].leave(cycle);
                return self.end(core, connection, clock);
            }
            if !client.entered {
                self.clients[connection].entered = true;
                if let Some(target) = self.enter(policy, core, connection) {
                    let clock = self.cores[core].leave(cycle);
                    self.cores[core].counted.yields += u64::from(target == core);
                    self.clients[connection].waits = Some((target, clock, target != core));
                    return;
                }
            } else if self.cores[core].clock.cycle() >= cycle + self.case.quantum_cycles {
                self.cores[core].busy += self.cores[core].clock.cycle() - cycle;
                return;
            } else {
                self.reference(core, connection);
            }
        }
    }

    fn take(&mut self, policy: &mut dyn Policy, core: usize, cycle: u64) {
        let own = self.waiting_for(core);
        let connection = match own.is_empty() {
            true => {
                let mut candidates = self.others(policy, core);
                candidates.retain(|&from| self.waiting_for(from)[0].0 <= cycle);
                let from = policy.victim(self, core, &candidates);
                self.waiting_for(from)[0].1
            }
            false => {
                let ready = own.iter().filter(|(since, _)| *since <= cycle);
                let ready: Vec<usize> = ready.map(|&(_, connection)| connection).collect();
                let of = |&connection: &usize| {
                    let client = &self.clients[connection];
                    (client.stage, client.came_by)
                };
                let waiting: Vec<(u32, By)> = ready.iter().map(of).collect();
                ready[policy.choose(self.case, core, &waiting)]
            }
        };
        let client = &mut self.clients[connection];
        let (from, since, hopped) = client.waits.take().unwrap();
        if let Some(counting) = self.since {
            self.cores[from].counted.queued_cycles += cycle - since.max(counting).min(cycle);
        }
        let at = &mut self.cores[core];
        let idle = cycle.max(at.clock.cycle()) - at.clock.cycle();
        at.idled.push((at.clock.cycle(), cycle));
        at.runs = Some(connection);
        at.clock.wait_until(cycle);
        if hopped {
            at.counted.hops += 1;
            let machine = &self.case.machine;
            let cost = match since < cycle {
                true => machine.busy_hop_cost_cycles,
                false => cost_after_idling(machine, idle),
            };
            at.clock.wait_until(cycle + u64::from(cost));
            self.caches.charge(core, cost);
        } else {
            at.counted.migrations += u64::from(client.core != core);
        }
        client.core = core;
    }

    /// Enters the current action; returns the core that its thread will wait for, if it leaves.
    fn enter(&mut self, policy: &mut dyn Policy, core: usize, connection: usize) -> Option<usize> {
        let goes_by_plan = !["free", "pinned", "steal", "steal-random"].contains(&self.case.name());
        let client = &mut self.clients[connection];
        let (request, action, _) = client.at;
        let Action {
            place,
            function,
            call_ends,
            ..
        } = client.script[request][action];
        let (from, mut by) = (client.stage, None);
        while let Some(&(Some(end), stage, called)) = client.open.last()
            && end <= place
        {
            client.open.pop();
            (client.stage, by) = (stage, Some(By::End(called)));
        }
        if let Some((to, for_call)) = self.case.planned.of(function)
            && goes_by_plan
        {
            if for_call {
                client.open.push((call_ends, client.stage, function));
            }
            (client.stage, by) = (to, Some(By::Entry(function)));
        }
        let stages = (from, client.stage);
        let (by, target) = (by?, policy.enter(self, core, stages)?);
        self.clients[connection].came_by = by;
        Some(target)
    }

    fn end(&mut self, core: usize, connection: usize, clock: u64) {
        let client = &mut self.clients[connection];
        client.at = (client.at.0 + 1, 0, 0);
        if client.at.0 == client.script.len() {
            client.at.0 = 0;
            client.open.iter_mut().for_each(|open| open.0 = Some(0));
        }
        client.free_since = clock;
        self.ended.push((client.came.remove(0), clock));
        if !client.came.is_empty() {
            client.came_by = By::Request;
            client.waits = Some((core, clock, false));
        }
        self.think(connection, clock);
        if self.ended.len() as u64 == self.case.warm_up {
            self.start_counting();
        }
    }

    fn start_counting(&mut self) {
        let since = self.ended.iter().map(|ended| ended.1).max().unwrap();
        self.since = Some(since);
        self.caches.start_counting();
        self.prefetches.start_counting();
        self.evictions
            .iter_mut()
            .flatten()
            .for_each(|count| *count = 0);
        for core in &mut self.cores {
            (core.busy, core.counted) = (0, CoreOutcome::default());
        }
    }

    fn outcome(mut self) -> Outcome {
        let since = self.since.unwrap();
        let latest = self.ended.iter().map(|ended| ended.1).max().unwrap();
        let counted = &self.ended[self.case.warm_up as usize..];
        let mut latencies: Vec<u64> = counted.iter().map(|(came, end)| end - came).collect();
        latencies.sort();
        for client in &self.clients {
            if let Some((core, from, _)) = client.waits {
                let waited = latest - from.max(since).min(latest);
                self.cores[core].counted.queued_cycles += waited;
            }
        }
        for core in &mut self.cores {
            let clock = core.clock.cycle();
            if core.runs.is_none() && clock < latest {
                core.idled.push((clock, latest));
            }
        }
        let idle = |core: &Core| {
            let counted = core
                .idled
                .iter()
                .map(|&(from, to)| to.max(since) - from.max(since));
            counted.sum()
        };
        let mut tlbs = self.caches.tlbs();
        tlbs.resize(self.cores.len(), TlbCounters::default());
        let counters = self.caches.counters().into_iter();
        let counters = counters.zip(self.prefetches.counted).zip(tlbs);
        let of_core = |(core, ((counters, prefetches), tlbs)): (&Core, _)| CoreOutcome {
            counters,
            prefetches,
            tlbs,
            busy_cycles: core.busy,
            idle_cycles: idle(core),
            ..core.counted.clone()
        };
        Outcome {
            requests: counted.len() as u64,
            elapsed_cycles: latest - since,
            latencies,
            per_core: self.cores.iter().zip(counters).map(of_core).collect(),
            evictions: self.evictions,
        }
    }
}

/// Returns the cost of a hop to a core that was idle for this many cycles: on the line between the
/// two points around it, rounded towards the earlier one.
fn cost_after_idling(machine: &Machine, idle: u64) -> u32 {
    let mut points = vec![(0, machine.hop_cost_cycles)];
    points.extend(
        machine
            .idle_hops
            .iter()
            .map(|hop| (hop.idle_cycles, hop.cost_cycles)),
    );
    let next = points.iter().position(|&(from, _)| from > idle);
    let Some(next) = next else {
        return points[points.len() - 1].1;
    };
    let ((from, start), (to, end)) = (points[next - 1], points[next]);
    let share = |difference: u32| {
        (u128::from(difference) * u128::from(idle - from) / u128::from(to - from)) as u32
    };
    match end >= start {
        true => start + share(end - start),
        false => start - share(start - end),
    }
}
