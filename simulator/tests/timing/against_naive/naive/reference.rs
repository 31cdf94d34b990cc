//! One reference: its effect on the caches, its prefetches, and its duration.

use super::Naive;
use crate::timing::against_naive::prefetches::Miss;
use crate::timing::against_naive::program::{Action, instruction_of};
use crate::timing::core_model::Made;
use crate::timing::oracle::{Event, Oracle};
use corehop_simulator::branches::{Branch, Way};
use corehop_simulator::timing::PrefetcherName;
use corehop_simulator::{CacheLevel, Tlb, TlbUse, WalkStart};
use corehop_traces::Kind;

/// The cache events of a reference.
#[derive(Default)]
struct Heard {
    missed_l1: bool,
    missed_l2: bool,
    /// It invalidated its line in another cluster.
    took_line: bool,
}

impl Naive<'_> {
    /// Makes the next reference of the current action, or its branch after them.
    pub(super) fn reference(&mut self, core: usize, connection: usize) {
        let client = &mut self.clients[connection];
        let (request, action, reference) = client.at;
        let Action {
            function,
            references,
            instructions,
            branch,
            ..
        } = &client.script[request][action];
        let steps = references.len() + usize::from(self.case.predicts() && branch.is_some());
        match reference + 1 == steps {
            true => (client.at, client.entered) = ((request, action + 1, 0), false),
            false => client.at = (request, action, reference + 1),
        }
        if let (Some((branch, back)), true) = (branch, reference == references.len()) {
            return self.branch(core, branch, *back);
        }
        let (kind, line, back) = references[reference];
        let instructions = instructions * u32::from(reference == 0);
        let instruction = instruction_of(*function);
        let cycles = |caches: &Oracle| caches.counters()[core].cycles;
        let translation = match self.case.translates {
            true => self.translate(core, connection, kind, line),
            false => 0,
        };
        let before = cycles(&self.caches);
        self.caches.access(core, kind, line);
        let mut latency = cycles(&self.caches) - before;
        let Heard {
            missed_l1,
            missed_l2,
            took_line,
        } = self.hear(connection);
        self.cores[core].clock.instructions(instructions);
        if missed_l1 {
            let miss = Miss {
                core,
                kind,
                line,
                instruction,
                missed_l2,
            };
            latency += self.prefetch(connection, miss);
        }
        let transfer = self.case.machine.transfer_latency_cycles;
        self.cores[core].clock.reference(Made {
            kind,
            line,
            is_hit: !missed_l1,
            latency,
            taken: took_line.then_some(transfer.into()),
            back,
            translation,
        });
        self.cores[core].counted.translation_cycles += translation;
    }

    /// Predicts a branch, which depends on the load so far back.
    fn branch(&mut self, core: usize, branch: &Branch, back: usize) {
        let is_right = self.predictors[core].predict(branch);
        let counted = &mut self.cores[core].counted.branches;
        let (all, wrong) = match branch.way {
            Way::Fixed => return,
            Way::Conditional => (
                &mut counted.conditional,
                &mut counted.conditional_mispredicted,
            ),
            Way::Indirect => (&mut counted.indirect, &mut counted.indirect_mispredicted),
            Way::Return => (&mut counted.returns, &mut counted.returns_mispredicted),
        };
        *all += 1;
        if !is_right {
            *wrong += 1;
            let cycles = self.case.machine.core.mispredict_cycles;
            self.cores[core].clock.mispredicted(back, cycles);
        }
    }

    /// Translates the address of a line; returns the cycles.
    fn translate(&mut self, core: usize, connection: usize, kind: Kind, line: u64) -> u64 {
        let translation = self.case.machine.translation.clone().unwrap();
        let counted = |caches: &Oracle| {
            let of_core = caches.tlbs()[core];
            let counters = caches.counters()[core];
            let walks = (of_core.walks(), of_core.walk_loads);
            (of_core.l1_misses(), walks, counters.cycles)
        };
        let before = counted(&self.caches);
        let size = self.caches.look_up(core, kind, line * 64);
        let after = counted(&self.caches);
        self.hear(connection);
        let mut cycles = after.2 - before.2;
        let uses = |tlb: &Tlb| match kind {
            Kind::Fetch => tlb.of != TlbUse::Data,
            Kind::Load | Kind::Store => tlb.of != TlbUse::Fetches,
        };
        let of_size = |tlb: &&Tlb| tlb.level == 2 && tlb.page_sizes.contains(&size);
        if after.0 > before.0 && translation.tlbs.iter().filter(of_size).any(uses) {
            cycles += u64::from(translation.second_level_cycles);
        }
        cycles += (after.1.0 - before.1.0) * u64::from(translation.walk_cycles);
        if translation.walks == WalkStart::None {
            let loads = after.1.1 - before.1.1;
            cycles += loads * u64::from(self.case.machine.l1d.latency_cycles);
        }
        cycles
    }

    /// Returns the cache events of a reference or prefetch.
    fn hear(&mut self, connection: usize) -> Heard {
        let mut heard = Heard::default();
        for event in std::mem::take(&mut self.caches.events) {
            match event {
                Event::Missed(CacheLevel::L1I | CacheLevel::L1D, core, _, line) => {
                    heard.missed_l1 = true;
                    self.owners.insert((self.l2_of(core), line), connection);
                }
                Event::LoadsFromL2(core, line) => {
                    self.owners.insert((self.l2_of(core), line), connection);
                }
                Event::Missed(CacheLevel::L2, ..) => heard.missed_l2 = true,
                Event::Invalidated(..) => heard.took_line = true,
                Event::Replaced(CacheLevel::L2, l2, _, line) => {
                    self.evictions[self.owners[&(l2, line)]][connection] += 1;
                }
                _ => {}
            }
        }
        self.prefetches.look(&mut self.caches);
        heard
    }

    fn l2_of(&self, core: usize) -> usize {
        core / self.case.machine.l2.shared_by as usize
    }

    /// Executes the prefetch of the core's prefetcher; returns the additional cycles of the
    /// reference.
    fn prefetch(&mut self, connection: usize, miss: Miss) -> u64 {
        let Miss { core, line, .. } = miss;
        let (l2, now) = (self.l2_of(core), self.cores[core].clock.cycle());
        let arrives = self.prefetches.used(l2, core, line);
        let there = now + u64::from(self.case.machine.l2.latency_cycles);
        let late = arrives.unwrap_or(0).saturating_sub(there);
        if late > 0 {
            self.prefetches.counted[core].late += 1;
            self.prefetches.counted[core].late_cycles += late;
            self.caches.charge(core, late as u32);
        }
        let first_use = miss.missed_l2 || arrives.is_some();
        if let Some(wanted) = self.prefetches.wanted(self.case, miss, first_use) {
            let at = (l2, core);
            let in_the_middle = self.case.prefetcher == PrefetcherName::NextLineMid;
            if self
                .prefetches
                .bring(&mut self.caches, at, (wanted, in_the_middle), now)
            {
                self.owners.insert((l2, wanted), connection);
            }
            self.hear(connection);
        }
        late
    }
}
