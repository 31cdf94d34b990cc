//! A second attribution, which shares no code with the first: after each access it looks what the
//! caches counted more, and it names places by going through all there are.

pub mod heap;

use crate::generated::{
    AREAS, CODE, FILE, FUNCTION_BYTES, FUNCTIONS, KERNEL, LAST, STACKS, entered_by,
};
use crate::paging::{Paging, Region};
use corehop_simulator::{CacheLevel, CoreId, Geometry, Hierarchy, LineId, Machine, WalkStart};
use corehop_traces::{Access, Kind, RequestId, Trace};
use heap::Bytes;
use std::collections::{BTreeMap, HashMap};

/// What a place cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub accesses: u64,
    pub cycles: u64,
    /// By level and by cause: cold, capacity, conflict, coherence, inclusion.
    pub misses: [[u64; 5]; 3],
    pub fetch_misses: u64,
    pub tlb_misses: u64,
    pub walks: u64,
}

/// Costs by name, of each view.
#[derive(Default)]
pub struct Attributed {
    pub functions: BTreeMap<String, Cost>,
    pub lines: BTreeMap<String, Cost>,
    pub objects: BTreeMap<String, Cost>,
    /// By function, line, and object.
    pub nested: BTreeMap<[String; 3], Cost>,
}

/// A cache in which any line can be anywhere: lines, the latest first.
#[derive(Default)]
struct Anywhere(Vec<u64>);

impl Anywhere {
    fn access(&mut self, line: u64, size_bytes: u64) -> bool {
        let place = self.0.iter().position(|&other| other == line);
        if let Some(place) = place {
            self.0.remove(place);
        }
        self.0.insert(0, line);
        self.0.truncate((size_bytes / 64) as usize);
        place.is_some()
    }
}

pub struct NaiveCaches<'m> {
    machine: &'m Machine,
    hierarchy: Hierarchy,
    ids: HashMap<u64, LineId>,
    /// By level and instance.
    anywhere: HashMap<(CacheLevel, u32), Anywhere>,
}

/// The levels that an access of this kind goes through.
fn levels(kind: Kind) -> [CacheLevel; 3] {
    let l1 = match kind {
        Kind::Fetch => CacheLevel::L1I,
        Kind::Load | Kind::Store => CacheLevel::L1D,
    };
    [l1, CacheLevel::L2, CacheLevel::L3]
}

impl<'m> NaiveCaches<'m> {
    /// Empty caches of so many cores.
    pub fn new(machine: &'m Machine, cores: u32) -> NaiveCaches<'m> {
        NaiveCaches {
            machine,
            hierarchy: Hierarchy::new(&Geometry::new(machine, cores, 1)),
            ids: HashMap::new(),
            anywhere: HashMap::new(),
        }
    }

    /// What the caches have counted of one kind: by level and cause, and what other caches served.
    fn counted(&self, kind: Kind) -> ([[u64; 4]; 3], u64) {
        let mut counted = ([[0; 4]; 3], 0);
        for tally in self.hierarchy.tally() {
            for (sums, level) in counted.0.iter_mut().zip(levels(kind)) {
                let of = tally.misses(level, kind);
                let causes = [of.cold, of.capacity, of.coherence, of.inclusion];
                for (sum, more) in sums.iter_mut().zip(causes) {
                    *sum += more;
                }
            }
            counted.1 += tally.transfers[kind as usize] + tally.hit_modified[kind as usize];
        }
        counted
    }

    fn would_hit(&mut self, level: CacheLevel, core: u32, line: u64) -> bool {
        let of = match level {
            CacheLevel::L1I => self.machine.l1i,
            CacheLevel::L1D => self.machine.l1d,
            CacheLevel::L2 => self.machine.l2,
            CacheLevel::L3 => self.machine.l3.unwrap(),
        };
        let instance = match level {
            CacheLevel::L3 => 0,
            _ => core / of.shared_by,
        };
        let anywhere = self.anywhere.entry((level, instance)).or_default();
        anywhere.access(line, of.size_bytes)
    }

    /// Makes an access of one line; what it cost.
    pub fn access(&mut self, core: u32, kind: Kind, line: u64) -> Cost {
        self.access_from(0, core, kind, line)
    }

    /// Makes an access, or from level 1 on one of a page walk that begins at the L2.
    fn access_from(&mut self, first: usize, core: u32, kind: Kind, line: u64) -> Cost {
        let hierarchy = &mut self.hierarchy;
        let id = *self.ids.entry(line).or_insert_with(|| hierarchy.line(line));
        let before = self.counted(kind);
        match first {
            0 => self.hierarchy.access(CoreId(core), kind, id, &mut ()),
            _ => self.hierarchy.load_from_l2(CoreId(core), id, &mut ()),
        }
        let after = self.counted(kind);
        let mut cost = Cost {
            accesses: u64::from(first == 0),
            ..Cost::default()
        };
        let there_are = if self.machine.l3.is_some() { 3 } else { 2 };
        let mut missed_levels = first;
        let levels = levels(kind).into_iter().enumerate();
        for (level, of) in levels.take(there_are).skip(first) {
            let would_hit = self.would_hit(of, core, line);
            let more = |cause: usize| after.0[level][cause] - before.0[level][cause];
            let [cold, replaced, coherence, inclusion] = [0, 1, 2, 3].map(more);
            cost.misses[level] = match would_hit {
                true => [cold, 0, replaced, coherence, inclusion],
                false => [cold, replaced, 0, coherence, inclusion],
            };
            if cost.misses[level] == [0; 5] {
                break;
            }
            missed_levels += 1;
        }
        let machine = self.machine;
        let l1 = match kind {
            Kind::Fetch => machine.l1i,
            Kind::Load | Kind::Store => machine.l1d,
        };
        if kind == Kind::Fetch && missed_levels > 0 {
            cost.fetch_misses = 1;
        }
        cost.cycles = u64::from(match (missed_levels, machine.l3) {
            _ if after.1 > before.1 => machine.transfer_latency_cycles,
            (0, _) => l1.latency_cycles,
            (1, _) => machine.l2.latency_cycles,
            (2, Some(l3)) => l3.latency_cycles,
            _ => machine.memory_latency_cycles,
        });
        cost
    }
}

impl Cost {
    pub fn add(&mut self, cost: &Cost) {
        self.accesses += cost.accesses;
        self.cycles += cost.cycles;
        self.fetch_misses += cost.fetch_misses;
        self.tlb_misses += cost.tlb_misses;
        self.walks += cost.walks;
        for (sums, more) in self.misses.iter_mut().zip(cost.misses) {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum += more;
            }
        }
    }
}

fn add(costs: &mut BTreeMap<String, Cost>, name: String, cost: &Cost) {
    costs.entry(name).or_default().add(cost);
}

/// The function or module that holds an address, and the distance from its start.
pub fn code_name(block: u32, start: u64, pc: u64) -> (String, String) {
    for function in 0..FUNCTIONS {
        let first = CODE + u64::from(function) * FUNCTION_BYTES;
        let holds = first <= start && start < first + FUNCTION_BYTES;
        if holds || entered_by(block) == Some(function) {
            let name = match function {
                0 => "fn_0".into(),
                _ => format!("f{function}"),
            };
            let place = format!("{name}+{:#x}", pc - first);
            return (name, place);
        }
    }
    if (CODE..CODE + 0x1000).contains(&start) {
        let place = format!("[{FILE}]+{:#x}", pc - CODE);
        return (format!("[{FILE}]"), place);
    }
    ("[outside all modules]".into(), format!("{pc:#x}"))
}

/// Pages of data; for each call, that of its return address once more, with the thread.
pub fn pages(trace: &Trace) -> Vec<(u64, Option<u32>)> {
    let mut heap = Bytes::of(trace);
    let mut pages = Vec::new();
    let mut pushed = HashMap::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let thread = trace.threads()[execution.thread.index()].os_thread_id;
        if let Some(page) = pushed.remove(&thread)
            && entered_by(execution.code_block).is_some()
        {
            pages.push((page, Some(thread)));
        }
        let start = trace.code_blocks()[execution.code_block as usize].start;
        for access in execution.accesses {
            if access.kind == Kind::Fetch {
                continue;
            }
            let page = |line: u64| line * 64 / 4096 * 4096;
            heap.at_stamp(execution.stamp);
            let others = access
                .lines()
                .filter(|&line| heap.name(access, line).is_none());
            pages.extend(others.map(|line| (page(line), None)));
            if access.pc == start + 4 * u64::from(LAST) && access.kind == Kind::Store {
                pushed.insert(thread, page(access.address / 64));
            }
        }
    }
    pages
}

/// What the memory of a line is called.
pub fn object_name(pages: &[(u64, Option<u32>)], access: &Access, line: u64) -> String {
    if access.kind == Kind::Fetch {
        return match (CODE..CODE + 0x1000).contains(&access.pc) {
            true => "code".into(),
            false => "code outside all modules".into(),
        };
    }
    let address = line * 64;
    if address >= KERNEL {
        return "kernel memory".into();
    }
    if let Some(&stack) = STACKS.iter().find(|&&page| page == address / 4096 * 4096) {
        let used = pages.iter().filter(|(page, _)| *page == stack);
        return match used.filter_map(|(_, thread)| *thread).next() {
            Some(thread) => format!("stack of thread {thread}"),
            None => format!("anonymous {stack:#x}-{:#x}", stack + 0x1000),
        };
    }
    // Pages near each other are one region, from the first that was accessed to the last.
    let is_near = |area: u64, page: u64| (area..area + 0x4000).contains(&page);
    let area = AREAS.iter().find(|&&area| is_near(area, address));
    let area = *area.unwrap();
    let pages = pages.iter().map(|(page, _)| *page);
    let pages = || pages.clone().filter(|&page| is_near(area, page));
    let (first, last) = (pages().min().unwrap(), pages().max().unwrap());
    format!("anonymous {first:#x}-{:#x}", last + 0x1000)
}

/// Costs of what comes from this request on, or of everything.
pub fn attributed(trace: &Trace, on: (&Machine, u32), from: Option<RequestId>) -> Attributed {
    attributed_with(trace, on, from, None)
}

/// Looks up the page of a line, and makes the loads of its walk; what both cost.
fn translated(
    naive: &mut NaiveCaches<'_>,
    paging: &mut Paging,
    (core, kind): (u32, Kind),
    address: u64,
) -> Cost {
    let before = paging.counters[core as usize];
    let read = paging.look_up(core as usize, kind == Kind::Fetch, address);
    let after = paging.counters[core as usize];
    let mut cost = Cost {
        tlb_misses: after.l1_misses() - before.l1_misses(),
        walks: after.walks() - before.walks(),
        ..Cost::default()
    };
    for entry in read {
        let first = match paging.walks() {
            WalkStart::L1d => 0,
            WalkStart::L2 => 1,
            WalkStart::None => break,
        };
        cost.add(&naive.access_from(first, core, Kind::Load, entry / 64));
    }
    cost
}

/// The same with address translation and larger pages in these regions.
pub fn attributed_with(
    trace: &Trace,
    (machine, cores): (&Machine, u32),
    from: Option<RequestId>,
    regions: Option<&[Region]>,
) -> Attributed {
    let mut paging = regions.map(|regions| {
        let translation = machine.translation.as_ref().unwrap();
        Paging::new(translation, regions, cores as usize)
    });
    let pages = pages(trace);
    let mut heap = Bytes::of(trace);
    let mut naive = NaiveCaches::new(machine, cores);
    let mut attributed = Attributed::default();
    let mut is_counting = from.is_none();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        is_counting |= execution.request.is_some() && execution.request >= from;
        let core = execution.thread.index() as u32 % cores;
        let start = trace.code_blocks()[execution.code_block as usize].start;
        for access in execution.accesses {
            let mut page = None;
            for line in access.lines() {
                let mut cost = Cost::default();
                if let Some(paging) = &mut paging
                    && page.replace(paging.page(line * 64)) != Some(paging.page(line * 64))
                {
                    cost = translated(&mut naive, paging, (core, access.kind), line * 64);
                }
                cost.add(&naive.access(core, access.kind, line));
                if !is_counting {
                    continue;
                }
                let (function, place) = code_name(execution.code_block, start, access.pc);
                add(&mut attributed.functions, function.clone(), &cost);
                add(&mut attributed.lines, place.clone(), &cost);
                heap.at_stamp(execution.stamp);
                let object = heap.name(access, line);
                let object = object.unwrap_or_else(|| object_name(&pages, access, line));
                add(&mut attributed.objects, object.clone(), &cost);
                let nested = attributed.nested.entry([function, place, object]);
                nested.or_default().add(&cost);
            }
        }
    }
    attributed
}
