//! The event loop, and the execution of a core's turn.
//!
//! docs/reference/timed.md contains these rules in full. The core with the smallest clock has the
//! next turn; of equal ones the one with the lowest number. The clock of an idle core counts as the
//! cycle at which it can take a thread. Requests that have arrived by then are sent first. In its
//! turn, a core executes one thread's references. The turn ends when the thread leaves the core, or
//! when the clock after a reference is a quantum past the start. Clocks of cores thus differ by at
//! most a quantum and one reference, or one hop. Their accesses to shared lines are made in that
//! order.

use super::connection::Connection;
use super::core::Core;
use super::memory::Memory;
use super::predicting::Predicting;
use super::prefetching::{Missed, Prefetching};
use super::translating::{Cost, Translating};
use crate::core_model::{CoreModel, Reference, ServedBy};
use crate::prefetchers::prefetcher::Prefetcher;
use crate::timing::load::Arrivals;
use crate::timing::outcome::{CoreOutcome, Outcome};
use crate::timing::schedulers::queues::{Queues, Waiting};
use crate::timing::schedulers::scheduler::{Move, Scheduler, Thread};
use crate::timing::setting::Setting;
use crate::timing::streams::stream::{Other, kind_of};
use crate::{CameBy, CoreId, LineId, Split};
use corehop_traces::Kind;

/// A simulation in progress.
pub(crate) struct Engine<'a, M, P> {
    pub setting: &'a Setting<'a>,
    /// The functions that move threads; if it is empty, nothing moves them.
    pub split: &'a Split,
    pub scheduler: Box<dyn Scheduler>,
    pub cores: Vec<Core<M>>,
    pub queues: Queues,
    pub connections: Vec<Connection<'a>>,
    pub arrivals: Arrivals,
    pub memory: Memory<P>,
    pub prefetching: Prefetching<P>,
    /// Address translation, if requested.
    pub translating: Option<Translating>,
    /// Branch prediction, if requested.
    pub predicting: Option<Predicting<'a>>,
    pub ended: Ended,
}

/// The requests that ended.
#[derive(Default)]
pub(crate) struct Ended {
    /// Number of all ended requests.
    count: u64,
    /// The latest end.
    latest: u64,
    /// The latest end before counting began.
    counting_since: u64,
    /// Latencies of the counted requests.
    latencies: Vec<u64>,
}

impl<M: CoreModel, P: Prefetcher> Engine<'_, M, P> {
    /// Simulates until enough requests are counted.
    pub fn run(mut self) -> Outcome {
        while (self.ended.latencies.len() as u64) < self.setting.requests {
            let next = self.next_core();
            let comes = self.arrivals.next_cycle();
            match (next, comes) {
                (Some((cycle, core)), comes) if comes.is_none_or(|comes| comes > cycle) => {
                    self.turn(core, cycle);
                }
                _ => self.send(),
            }
        }
        self.outcome()
    }

    /// Returns the core with the next turn, and its cycle; `None` while all are idle.
    fn next_core(&self) -> Option<(u64, usize)> {
        let cores = 0..self.cores.len();
        let turns = cores.filter_map(|core| Some((self.cycle_of_turn(core)?, core)));
        turns.min()
    }

    /// Returns when `core` can continue, or take a thread.
    fn cycle_of_turn(&self, core: usize) -> Option<u64> {
        let clock = self.cores[core].model.cycle();
        if self.queues.running(core).is_some() {
            return Some(clock);
        }
        if self.queues.are_empty() {
            return None;
        }
        let first = |of: usize| self.queues.waiting(of).first().map(|thread| thread.ready);
        let ready = first(core).or_else(|| {
            let others = (0..self.cores.len()).filter(|&from| self.may_take(core, from));
            others.filter_map(first).min()
        });
        ready.map(|ready| ready.max(clock))
    }

    /// Returns whether `core`, which is idle and has an empty queue, may take from the queue of
    /// `from`.
    fn may_take(&self, core: usize, from: usize) -> bool {
        from != core
            && self.queues.running(from).is_some()
            && !self.queues.waiting(from).is_empty()
            && self.scheduler.may_take(core, from)
    }

    /// Sends the next request.
    fn send(&mut self) {
        if let Some((cycle, connection)) = self.arrivals.take()
            && let Some(ready) = self.connections[connection].send(cycle)
        {
            self.wait(connection, ready, self.connections[connection].core, None);
        }
    }

    /// Queues a connection's thread for a core.
    fn wait(&mut self, connection: usize, ready: u64, core: usize, came_by: Option<CameBy>) {
        let of = &self.connections[connection];
        let waiting = Waiting {
            ready,
            connection,
            stage: of.placed.core().0,
            hopped: came_by.is_some() && core != of.core,
            came_by,
        };
        self.queues.push(core, waiting);
    }

    /// Executes the turn of a core at `cycle`.
    fn turn(&mut self, core: usize, cycle: u64) {
        let limit = cycle + self.setting.quantum_cycles;
        let connection = match self.queues.running(core) {
            Some(connection) => connection,
            None => self.take(core, cycle),
        };
        loop {
            if self.connections[connection].is_at_end() {
                return self.end_request(core, connection);
            }
            if let Some(mark) = self.connections[connection].take_mark() {
                let placed = &mut self.connections[connection].placed;
                let from = placed.core().0;
                if let Some((to, by)) = mark.pass(placed, self.split)
                    && self.leaves(connection, Thread { core, from, to }, by)
                {
                    return;
                }
                continue;
            }
            if self.cores[core].model.cycle() >= limit {
                return self.cores[core].sum_up();
            }
            self.execute(core, connection, limit);
        }
    }

    /// Starts the next thread for the idle core; returns its connection.
    fn take(&mut self, core: usize, cycle: u64) -> usize {
        let (from, place) = match self.queues.waiting(core) {
            [] => (self.victim(core, cycle), 0),
            own => {
                let ready = own.partition_point(|thread| thread.ready <= cycle);
                (core, self.scheduler.choose(core, &own[..ready]))
            }
        };
        let thread = self.queues.start(core, (from, place));
        let counting_since = self.ended.counting_since;
        self.cores[from].queued(thread.ready, cycle, counting_since);
        let at = &mut self.cores[core];
        let idle_cycles = at.idle_until(cycle, counting_since);
        let was_on = std::mem::replace(&mut self.connections[thread.connection].core, core);
        if thread.hopped {
            let machine = self.setting.machine;
            let cost = u64::from(match thread.ready < cycle {
                true => machine.busy_hop_cost_cycles,
                false => machine.idle_hop_cycles(idle_cycles),
            });
            at.hops += 1;
            at.hop_cycles += cost;
            at.model.wait_until(cycle + cost);
        } else if was_on != core {
            at.migrations += 1;
        }
        thread.connection
    }

    /// Returns the core from whose queue an idle core takes a thread.
    fn victim(&mut self, core: usize, cycle: u64) -> usize {
        let is_ready = |&from: &usize| {
            self.may_take(core, from) && self.queues.waiting(from)[0].ready <= cycle
        };
        let candidates: Vec<usize> = (0..self.cores.len()).filter(is_ready).collect();
        self.scheduler.victim(core, &candidates, &self.queues)
    }

    /// Handles a running thread that enters another stage; returns whether it leaves its core.
    fn leaves(&mut self, connection: usize, thread: Thread, by: CameBy) -> bool {
        let core = thread.core;
        let target = match self.scheduler.enter(thread, &self.queues) {
            Move::Hop(target) if target != core => target,
            Move::Yield => core,
            Move::Hop(_) | Move::Stay => return false,
        };
        let cycle = self.leave(core);
        self.cores[core].yields += u64::from(target == core);
        self.wait(connection, cycle, target, Some(by));
        true
    }

    /// Removes the running thread from `core` after its outstanding references; returns the cycle.
    fn leave(&mut self, core: usize) -> u64 {
        self.queues.stop(core);
        let core = &mut self.cores[core];
        core.model.switch();
        core.sum_up();
        core.model.cycle()
    }

    /// Executes until the next mark, the end of the request, or the limit.
    fn execute(&mut self, core: usize, connection: usize, limit: u64) {
        self.memory.watch.connection = connection as u16;
        let connection = &mut self.connections[connection];
        let id = CoreId::from_index(core);
        let Core {
            model, references, ..
        } = &mut self.cores[core];
        let range = connection.at..connection.stop();
        let entries = &connection.stream.entries[range.clone()];
        let address_from = &connection.stream.address_from[range];
        let mut executed = 0;
        for (&entry, &address_from) in entries.iter().zip(address_from) {
            executed += 1;
            let kind = match kind_of(entry) {
                Ok(kind) => kind,
                Err(Other::Instructions(count)) => {
                    model.instructions(count);
                    continue;
                }
                Err(Other::Branch(branch)) => {
                    if let Some(predicting) = &mut self.predicting
                        && !predicting.predict(core, branch)
                    {
                        model.mispredicted(address_from);
                        if model.cycle() >= limit {
                            break;
                        }
                    }
                    continue;
                }
            };
            references[kind as usize] += 1;
            let line = LineId(entry >> 2);
            let mut translation = Cost::default();
            if let Some(translating) = &mut self.translating {
                translation = translating.translate((id, kind), line, &mut self.memory);
                references[Kind::Load as usize] += translation.l1d_loads;
            }
            let Memory {
                hierarchy, watch, ..
            } = &mut self.memory;
            watch.begin_reference();
            hierarchy.access(id, kind, line, watch);
            let (served_by, takes_line) = (watch.served_by, watch.takes_line);
            let mut at_least_cycles = 0;
            if P::ASKS && served_by != ServedBy::L1 {
                let missed = Missed {
                    core: id,
                    kind,
                    line,
                    instruction: connection.stream.instruction(connection.at + executed - 1),
                    cycle: model.cycle(),
                };
                at_least_cycles = self.prefetching.missed_l1(missed, &mut self.memory);
            }
            model.reference(Reference {
                kind,
                line,
                served_by,
                address_from,
                at_least_cycles,
                takes_line,
                translation_cycles: translation.cycles,
            });
            if model.cycle() >= limit {
                break;
            }
        }
        connection.at += executed;
    }

    fn end_request(&mut self, core: usize, connection: usize) {
        let cycle = self.leave(core);
        let (came, more) = self.connections[connection].end_request(cycle);
        self.arrivals.ended(connection, cycle);
        if more {
            self.wait(connection, cycle, core, None);
        }
        let ended = &mut self.ended;
        ended.latest = ended.latest.max(cycle);
        if ended.count >= self.setting.warm_up {
            ended.latencies.push(cycle - came);
        }
        ended.count += 1;
        if ended.count == self.setting.warm_up {
            self.start_counting();
        }
    }

    fn start_counting(&mut self) {
        self.ended.counting_since = self.ended.latest;
        self.memory.start_counting();
        if let Some(translating) = &mut self.translating {
            translating.start_counting();
        }
        if let Some(predicting) = &mut self.predicting {
            predicting.start_counting();
        }
        self.cores.iter_mut().for_each(Core::start_counting);
    }

    fn outcome(mut self) -> Outcome {
        let Ended {
            latest,
            counting_since,
            ..
        } = self.ended;
        for (number, core) in self.cores.iter_mut().enumerate() {
            for thread in self.queues.waiting(number) {
                core.queued(thread.ready, latest, counting_since);
            }
            if self.queues.running(number).is_none() {
                core.idle_until(latest, counting_since);
            }
        }
        let Memory {
            hierarchy, watch, ..
        } = &self.memory;
        let counted = hierarchy.tally().iter().zip(watch.unused.counters());
        let cores = self.cores.iter().zip(counted);
        let per_core = cores.map(|(core, counted)| core.outcome(counted, self.setting.machine));
        let mut per_core: Vec<CoreOutcome> = per_core.collect();
        let translations = self.translating.iter().flat_map(Translating::counts);
        for (core, (tlbs, cycles)) in per_core.iter_mut().zip(translations) {
            (core.tlbs, core.translation_cycles) = (tlbs, cycles);
        }
        let branches = self.predicting.iter().flat_map(Predicting::counters);
        for (core, &branches) in per_core.iter_mut().zip(branches) {
            core.branches = branches;
        }
        let mut latencies = self.ended.latencies;
        latencies.sort_unstable();
        Outcome {
            requests: latencies.len() as u64,
            elapsed_cycles: latest - counting_since,
            latencies,
            per_core,
            evictions: self.memory.watch.evictions(),
        }
    }
}
