//! Separate counts of user code and the kernel equal those of the naive oracle on random programs
//! with both, by mode and by visit of the kernel.

use crate::detail::recorded::{BLOCKS, FUNCTIONS, KERNEL, KERNEL_BLOCKS, address_of, record};
use crate::numbered::split as split_of;
use crate::oracle::{Event, Oracle};
use crate::random::{equal, holds, machines};
use crate::steps::{Step, steps_of};
use corehop_simulator::detail::{
    Footprint, Mode, ModeUse, Modes, Reason, Replaced, replay_by_mode,
};
use corehop_simulator::{CacheLevel, Counters, Machine, ReplayOptions, Split, replay};
use corehop_traces::{Kind, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Converts the results for both modes to a form that is comparable with the oracle's.
fn told(modes: &Modes) -> Value {
    let of = |mode: &ModeUse| {
        let sets = mode.working_sets.iter();
        let sets = sets.map(|set| (set.request.0, [set.code_lines, set.data_lines, set.lines]));
        json!({ "counters": mode.counters, "sets": sets.collect::<Vec<_>>() })
    };
    let visits = modes.visits.iter().map(|kind| {
        let Footprint {
            code_lines,
            data_lines,
            lines,
            ..
        } = kind.footprint;
        let replaced = json!(kind.footprint);
        let replaced = LEVELS.map(|level| {
            let of = &replaced[level];
            [of["user"].as_u64().unwrap(), of["all"].as_u64().unwrap()]
        });
        let kind = (kind.reason, kind.name.clone(), kind.visits);
        (kind, [code_lines, data_lines, lines], replaced)
    });
    let mut visits: Vec<String> = visits.map(|kind| format!("{kind:?}")).collect();
    visits.sort();
    let (user, kernel) = (of(&modes.user), of(&modes.kernel));
    json!([user, kernel, modes.replaced, visits])
}

const LEVELS: [&str; 4] = ["l1i", "l1d", "l2", "l3"];

/// The effects of one visit, by the oracle.
#[derive(Default)]
struct NaiveVisit {
    code: HashSet<u64>,
    data: HashSet<u64>,
    replaced: [[u64; 2]; 4],
    reads: bool,
}

/// For a step in the kernel, returns the step that began its visit.
fn beginning_of(steps: &[Step], place: usize) -> usize {
    *open_at(steps, place).0.last().unwrap()
}

/// Returns whether this step enters the kernel, and no function: an interrupt's stub, if the
/// thread's next step is the interrupt's common code.
fn is_stub(steps: &[Step], place: usize) -> bool {
    open_at(steps, place).1
}

/// For a step in the kernel, returns the steps that began the open visits, the innermost last, and
/// whether this step may be a stub. They are found by searching back through the thread's steps
/// since it left user code.
fn open_at(steps: &[Step], place: usize) -> (Vec<usize>, bool) {
    let own = |&other: &usize| steps[other].thread == steps[place].thread;
    let is_kernels = |&other: &usize| KERNEL_BLOCKS.contains(&steps[other].block);
    let back = (0..=place).rev().filter(own).take_while(is_kernels);
    let mut since: Vec<usize> = back.collect();
    since.reverse();
    let mut open = Vec::new();
    let comes_from_user = (0..since[0]).any(|other| own(&other));
    let (mut leaves, mut has_left, mut is_stub) = (false, comes_from_user, false);
    for step in since {
        if leaves {
            open.pop();
            has_left = true;
        }
        let block = steps[step].block - BLOCKS;
        leaves = block == 3;
        let was_stub = std::mem::take(&mut is_stub);
        match block {
            0 => open = vec![step],
            4 if was_stub => {}
            2 | 4 => open.push(step),
            _ if open.is_empty() => {
                open.push(step);
                is_stub = has_left && block == 5;
            }
            _ => {}
        }
        has_left = false;
    }
    (open, is_stub)
}

/// Returns the next step of a step's thread, if any, as the number of its kernel block.
fn next_of(steps: &[Step], place: usize) -> Option<u32> {
    let thread = steps[place].thread;
    let next = steps[place + 1..].iter().find(|step| step.thread == thread);
    next.and_then(|step| step.block.checked_sub(BLOCKS))
}

/// Sums the visits that began at `first` or later, in the form of [`told`].
fn by_kind(steps: &[Step], visits: &BTreeMap<usize, NaiveVisit>, first: usize) -> Vec<String> {
    let mut kinds = BTreeMap::new();
    for (&begun, visit) in visits.iter().filter(|(begun, _)| **begun >= first) {
        let (reason, name) = match steps[begun].block - BLOCKS {
            0 if visit.reads => (Reason::SystemCall, "read"),
            0 => (Reason::SystemCall, ""),
            2 => (Reason::Exception, "page_fault"),
            4 => (Reason::Interrupt, "common_interrupt"),
            _ if is_stub(steps, begun) && next_of(steps, begun) == Some(4) => {
                (Reason::Interrupt, "common_interrupt")
            }
            _ => (Reason::Other, ""),
        };
        let sizes = [
            visit.code.len(),
            visit.data.len(),
            visit.code.union(&visit.data).count(),
        ];
        let sums = kinds
            .entry((reason, name.to_owned()))
            .or_insert((0, [0; 3], [[0; 2]; 4]));
        sums.0 += 1;
        (0..3).for_each(|of| sums.1[of] += sizes[of]);
        for (sum, more) in sums
            .2
            .as_flattened_mut()
            .iter_mut()
            .zip(visit.replaced.as_flattened())
        {
            *sum += more;
        }
    }
    let kinds = kinds.into_iter();
    let mut kinds: Vec<String> = kinds
        .map(|((reason, name), (visits, sizes, replaced))| {
            format!("{:?}", ((reason, name, visits), sizes, replaced))
        })
        .collect();
    kinds.sort();
    kinds
}

/// Adds the differences between `after` and `before` to `sum`.
fn add_change(sum: &mut Value, before: &Value, after: &Value) {
    if let Value::Object(keys) = after {
        for (key, after) in keys {
            add_change(&mut sum[key], &before[key], after);
        }
        return;
    }
    let [before, after] = [before, after].map(|count| count.as_u64().unwrap());
    *sum = (sum.as_u64().unwrap_or(0) + after - before).into();
}

fn number(level: CacheLevel) -> usize {
    match level {
        CacheLevel::L1I => 0,
        CacheLevel::L1D => 1,
        CacheLevel::L2 => 2,
        CacheLevel::L3 => 3,
    }
}

/// For each request and mode, the lines of code and those of data.
type Sets = BTreeMap<(u32, usize), [HashSet<u64>; 2]>;

/// The oracle, with separate counts by mode.
struct Naive {
    oracle: Oracle,
    /// Counts of user code and of the kernel.
    sums: [Value; 2],
    replaced: Value,
    /// For each line, the mode that last referenced it.
    last: HashMap<u64, usize>,
    sets: Sets,
    /// Indexed by the step that began the visit.
    visits: BTreeMap<usize, NaiveVisit>,
}

impl Naive {
    fn new(machine: &Machine, cores: u32) -> Naive {
        let mut naive = Naive {
            oracle: Oracle::new(machine, cores),
            sums: Default::default(),
            replaced: Value::Null,
            last: HashMap::new(),
            sets: Sets::new(),
            visits: BTreeMap::new(),
        };
        naive.start_counting();
        naive
    }

    fn start_counting(&mut self) {
        self.sums = [0; 2].map(|_| json!(Counters::default()));
        let none = || json!(Replaced::default());
        self.replaced = json!({ "l1i": none(), "l1d": none(), "l2": none(), "l3": none() });
    }

    fn counters(&self) -> Value {
        json!(self.oracle.counters().into_iter().sum::<Counters>())
    }

    /// References a line on a core in a mode, for the visit and the request that it belongs to, if
    /// any.
    fn access(&mut self, (core, mode): (usize, usize), kind: Kind, line: u64, of: Of) {
        self.last.insert(line, mode);
        self.oracle.access(core, kind, line);
        let mut visit = of.visit.and_then(|visit| self.visits.get_mut(&visit));
        for event in self.oracle.events.drain(..) {
            let Event::Replaced(level, _, _, victim) = event else {
                continue;
            };
            let whose = self.last[&victim];
            let modes = ["user", "kernel"];
            let key = format!("{}_by_{}", modes[whose], modes[mode]);
            let count = &mut self.replaced[LEVELS[number(level)]][key];
            *count = (count.as_u64().unwrap() + 1).into();
            if let Some(visit) = &mut visit {
                let of_level = &mut visit.replaced[number(level)];
                of_level[0] += u64::from(whose == 0);
                of_level[1] += 1;
            }
        }
        let is_fetch = kind == Kind::Fetch;
        if let Some(visit) = visit {
            let lines = if is_fetch {
                &mut visit.code
            } else {
                &mut visit.data
            };
            lines.insert(line);
        }
        if let Some(request) = of.request {
            let lines = self.sets.entry((request, mode)).or_default();
            lines[usize::from(!is_fetch)].insert(line);
        }
    }
}

/// The request and visit of an access.
#[derive(Clone, Copy)]
struct Of {
    request: Option<u32>,
    visit: Option<usize>,
}

/// Computes the same by the oracle, step by step; threads enter functions of `split` only.
fn naive(
    trace: &Trace,
    steps: &[Step],
    machine: &Machine,
    split: &[(u32, u32)],
    warm_up: u32,
) -> Value {
    let cores = split.iter().map(|(_, core)| core + 1).max().unwrap_or(1);
    let mut naive = Naive::new(machine, cores);
    let (mut core_of, mut request_of, mut begun) = ([0; 2], [None; 2], 0);
    let mut first = (warm_up == 0).then_some(0);
    for (place, step) in steps.iter().enumerate() {
        let thread = step.thread as usize;
        if step.begins_request {
            request_of[thread] = Some(begun);
            begun += 1;
        }
        if first.is_none() && request_of[thread] >= Some(warm_up) {
            first = Some(place);
            naive.start_counting();
        }
        let mode = usize::from(address_of(step.block) >= 1 << 63);
        let visit = (mode == 1).then(|| beginning_of(steps, place));
        if let Some(visit) = visit {
            let visit = naive.visits.entry(visit).or_default();
            visit.reads |= step.block == BLOCKS + 1;
        }
        let before = naive.counters();
        if let Some(&(_, core)) = split.iter().find(|(function, _)| *function == step.block)
            && std::mem::replace(&mut core_of[thread], core as usize) != core as usize
        {
            naive.oracle.charge(core as usize, machine.hop_cost_cycles);
        }
        let request = request_of[thread];
        let fetch = (address_of(step.block), 4, Kind::Fetch);
        let data = step.data.iter().map(|&(address, store)| {
            let kind = if store { Kind::Store } else { Kind::Load };
            (address, 8, kind)
        });
        for (address, size, kind) in [fetch].into_iter().chain(data) {
            for line in address / 64..=(address + size - 1) / 64 {
                let of = Of { request, visit };
                naive.access((core_of[thread], mode), kind, line, of);
            }
        }
        let after = naive.counters();
        add_change(&mut naive.sums[mode], &before, &after);
    }
    if first.is_none() {
        naive.start_counting();
    }
    in_words(trace, steps, &naive, (warm_up, first))
}

/// Converts the counts to the form of [`told`].
fn in_words(
    trace: &Trace,
    steps: &[Step],
    naive: &Naive,
    (warm_up, first): (u32, Option<usize>),
) -> Value {
    let of = |mode: usize| {
        let counted = naive.sets.iter().filter(|((request, of), _)| {
            *of == mode && *request >= warm_up && trace.requests()[*request as usize].complete
        });
        let sizes = counted.map(|((request, _), [code, data])| {
            let either = code.union(data).count();
            (*request, [code.len(), data.len(), either])
        });
        json!({ "counters": naive.sums[mode], "sets": sizes.collect::<Vec<_>>() })
    };
    let visits = by_kind(steps, &naive.visits, first.unwrap_or(usize::MAX));
    json!([of(0), of(1), naive.replaced, visits])
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let address = prop_oneof![
        0u64..1500,
        (0u64..1500).prop_map(|near| KERNEL + 4096 + near)
    ];
    let data = vec((address, any::<bool>()), 0..4);
    let blocks = prop_oneof![1 => 0..2 * FUNCTIONS, 3 => KERNEL_BLOCKS];
    vec(steps_of(0u32..2, 0.1, blocks, data), 1..80)
}

#[test]
fn what_user_code_and_the_kernel_do_is_what_the_oracle_counts() {
    let split = vec((0..FUNCTIONS, 0u32..4), 0..3);
    let cases = (programs(), machines(), split, 0u32..3);
    holds(
        "modes equal the oracle's",
        cases,
        |(steps, machine, split, warm_up)| {
            let folder = tempfile::tempdir().unwrap();
            let trace = record(&folder.path().join("server.trace"), 2, &steps).unwrap();
            let requests = trace.requests().len() as u32;
            let warm_up = if warm_up < requests { warm_up } else { 0 };
            let mut functions: HashMap<u32, u32> = HashMap::new();
            let cores = machine.cores;
            functions.extend(
                split
                    .iter()
                    .map(|(function, core)| (*function, core % cores)),
            );
            let split: Vec<(u32, u32)> = functions.into_iter().collect();
            let options = ReplayOptions {
                warm_up_requests: warm_up as usize,
                ..ReplayOptions::default()
            };
            let on = split_of(split.iter().copied());
            let modes = replay_by_mode(&trace, &machine, &on, &options)
                .unwrap()
                .unwrap();
            let expected = naive(&trace, &steps, &machine, &split, warm_up);
            equal(&told(&modes), &expected)?;
            let whole = replay(&trace, &machine, &on, &options).unwrap();
            equal(modes.user.counters + modes.kernel.counters, whole.counters)
        },
    );
}

#[test]
fn a_trace_without_kernel_code_that_was_run_may_still_be_one_of_a_machine() {
    let steps = [Step {
        thread: 0,
        begins_request: true,
        block: 0,
        data: vec![(KERNEL, false)],
    }];
    let folder = tempfile::tempdir().unwrap();
    let trace = record(&folder.path().join("server.trace"), 1, &steps).unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let options = ReplayOptions::default();
    let modes = replay_by_mode(&trace, &machine, &Split::default(), &options).unwrap();
    let modes = modes.expect("code of the kernel's is known");
    // The mode of an access is that of the code, not of the address.
    assert_eq!(modes.user.counters.accesses(), 2);
    assert_eq!(modes.kernel.counters.accesses(), 0);
    assert_eq!(
        [0x7fff_ffff_ffff, KERNEL].map(Mode::of),
        [Mode::User, Mode::Kernel]
    );
}

#[test]
fn a_trace_of_user_code_alone_tells_no_modes() {
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../traces/samples/mariadb-tpcc.trace"
    );
    let trace = Trace::open(sample.as_ref()).unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let options = ReplayOptions::default();
    let modes = replay_by_mode(&trace, &machine, &Split::default(), &options).unwrap();
    assert_eq!(modes, None);
}
