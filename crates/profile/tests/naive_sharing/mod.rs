//! Sharing by a second method: each line has the list of all its accesses, and what an access
//! means follows from going back through that list.

use crate::naive::heap::Bytes;
use crate::naive::{code_name, object_name, pages};
use corehop_simulator::{CacheLevel, CoreId, Geometry, Hierarchy, LineId, Machine};
use corehop_traces::{Access, Kind, RequestId, Trace};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Loads, stores, coherence misses of the L2, transfers, hits of modified lines, invalidated lines,
/// true sharing, false sharing.
pub type Costs = [u64; 8];

/// Offset, size, thread, function, code.
pub type UseName = (u64, u64, u32, String, String);

/// A line that threads share.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Without objects on the heap: what the line is in.
    pub object: String,
    pub first_byte: u64,
    /// Names of the objects on the heap that takes were of.
    pub taken: BTreeSet<String>,
    pub loading_threads: usize,
    pub storing_threads: usize,
    pub verdict: &'static str,
    pub uses: BTreeMap<UseName, Costs>,
}

/// What an access did, to the bytes `from..=to` of its line.
struct Past {
    thread: u32,
    is_store: bool,
    from: u64,
    to: u64,
    name: UseName,
    on_heap: Option<String>,
    counted: Costs,
    is_take: bool,
    /// Whether it uses a byte of others.
    is_proof: bool,
    /// Whether it is a take that an access proves to be true sharing.
    is_true: bool,
}

/// All lines that threads share by address, and what everything else cost.
pub struct Found {
    pub lines: BTreeMap<u64, Shared>,
    pub rest: Costs,
}

fn sum(into: &mut Costs, more: Costs) {
    for (sum, more) in into.iter_mut().zip(more) {
        *sum += more;
    }
}

/// What all caches have counted that the costs of an access are made of.
fn counters(hierarchy: &Hierarchy, kind: Kind) -> [u64; 4] {
    let mut counted = [0; 4];
    for tally in hierarchy.tally() {
        counted[0] += tally.misses(CacheLevel::L2, kind).coherence;
        counted[1] += tally.transfers[kind as usize];
        counted[2] += tally.hit_modified[kind as usize];
        counted[3] += tally.invalidated_lines;
    }
    counted
}

/// Decides of the last access of a line what it means.
fn judge(past: &mut [Past]) {
    let (now, before) = past.split_last_mut().unwrap();
    let thread = now.thread;
    let own = |of: &Past| of.thread == thread;
    let after = |place: Option<usize>| place.map_or(0, |place| place + 1);
    let others = |from: usize| before[from..].iter().filter(|of| of.thread != thread);
    let last = after(before.iter().rposition(own));
    let last_hold = before
        .iter()
        .rposition(|of| own(of) && (of.is_take || of.is_store));
    let last_hold = after(last_hold);
    let has_stored = others(last).any(|of| of.is_store);
    now.is_take = has_stored || (now.is_store && others(last_hold).count() > 0);
    let last_proof = after(before.iter().rposition(|of| own(of) && of.is_proof));
    let (from, to, stores) = (now.from, now.to, now.is_store);
    let meets = |of: &Past| of.from <= to && from <= of.to;
    let met = others(last_proof).any(|of| (stores || of.is_store) && meets(of));
    now.is_proof = met;
    if !met {
        return;
    }
    if now.is_take {
        now.is_true = true;
        return;
    }
    let take = before
        .iter_mut()
        .rfind(|of| of.thread == thread && of.is_take);
    take.expect("a thread that uses bytes of others has taken them")
        .is_true = true;
}

fn shared(past: &[Past], object: String) -> Shared {
    let threads = |stores: bool| {
        let of = past.iter().filter(|of| of.is_store == stores);
        of.map(|of| of.thread).collect::<BTreeSet<_>>().len()
    };
    let taken = past.iter().filter(|of| of.is_take);
    let taken = taken.filter_map(|of| of.on_heap.clone());
    let mut shared = Shared {
        object,
        taken: taken.filter(|name| name != "freed memory").collect(),
        first_byte: past.iter().map(|of| of.from).min().unwrap(),
        loading_threads: threads(false),
        storing_threads: threads(true),
        ..Shared::default()
    };
    for of in past {
        let mut costs = of.counted;
        costs[6] = u64::from(of.is_take && of.is_true);
        costs[7] = u64::from(of.is_take && !of.is_true);
        sum(shared.uses.entry(of.name.clone()).or_default(), costs);
    }
    let takes = past.iter().filter(|of| of.is_take).map(|of| of.is_true);
    let kinds: BTreeSet<bool> = takes.collect();
    shared.verdict = match (kinds.contains(&true), kinds.contains(&false)) {
        (true, true) => "mixed",
        (true, false) => "true",
        (false, true) => "false",
        (false, false) => "none",
    };
    shared
}

/// Sharing of what comes from this request on, or of everything.
pub fn found(trace: &Trace, (machine, cores): (&Machine, u32), from: Option<RequestId>) -> Found {
    let pages = pages(trace);
    let mut hierarchy = Hierarchy::new(&Geometry::new(machine, cores, 1));
    let mut ids: HashMap<u64, LineId> = HashMap::new();
    let mut lines = BTreeMap::<u64, (Access, Vec<Past>)>::new();
    let mut rest = Costs::default();
    let mut is_counting = from.is_none();
    let mut heap = Bytes::of(trace);
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        is_counting |= execution.request.is_some() && execution.request >= from;
        heap.at_stamp(execution.stamp);
        let core = CoreId(execution.thread.0 % cores);
        let thread = trace.threads()[execution.thread.index()].os_thread_id;
        let start = trace.code_blocks()[execution.code_block as usize].start;
        for access in execution.accesses {
            for line in access.lines() {
                let id = *ids.entry(line).or_insert_with(|| hierarchy.line(line));
                let before = counters(&hierarchy, access.kind);
                hierarchy.access(core, access.kind, id, &mut ());
                let after = counters(&hierarchy, access.kind);
                if !is_counting {
                    continue;
                }
                let [coherence, transfers, modified, invalidated] =
                    std::array::from_fn(|place| after[place] - before[place]);
                let [loads, stores] =
                    [Kind::Load, Kind::Store].map(|kind| u64::from(kind == access.kind));
                let counted = [
                    loads,
                    stores,
                    coherence,
                    transfers,
                    modified,
                    invalidated,
                    0,
                    0,
                ];
                if access.kind == Kind::Fetch {
                    sum(&mut rest, counted);
                    continue;
                }
                let end = access.address + u64::from(access.size_bytes);
                let from = access.address.max(line * 64) - line * 64;
                let to = end.min(line * 64 + 64) - line * 64 - 1;
                let (function, code) = code_name(execution.code_block, start, access.pc);
                let (_, past) = lines.entry(line).or_insert_with(|| (*access, Vec::new()));
                past.push(Past {
                    thread,
                    is_store: access.kind == Kind::Store,
                    from,
                    to,
                    name: (from, to - from + 1, thread, function, code),
                    on_heap: heap.name(access, line),
                    counted,
                    is_take: false,
                    is_proof: false,
                    is_true: false,
                });
                judge(past);
            }
        }
    }
    split(&pages, lines, rest)
}

/// Tells lines that threads share from others.
fn split(
    pages: &[(u64, Option<u32>)],
    lines: BTreeMap<u64, (Access, Vec<Past>)>,
    rest: Costs,
) -> Found {
    let mut found = Found {
        lines: BTreeMap::new(),
        rest,
    };
    for (line, (access, past)) in lines {
        let threads: BTreeSet<u32> = past.iter().map(|of| of.thread).collect();
        if threads.len() > 1 && past.iter().any(|of| of.is_store) {
            let object = object_name(pages, &access, line);
            let mut shared = shared(&past, object);
            if !shared.taken.is_empty() {
                (shared.object, shared.first_byte) = (String::new(), 0);
            }
            found.lines.insert(line * 64, shared);
        } else {
            past.iter().for_each(|of| sum(&mut found.rest, of.counted));
        }
    }
    found
}
