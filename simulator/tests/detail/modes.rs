//! User code and the kernel, told apart: exact on a program made for it, and equal to the naive
//! oracle on random ones that do both.

use crate::numbered::split as split_of;
use crate::oracle::{Event, Oracle};
use crate::random::{equal, holds, machines};
use crate::recorded::{FUNCTIONS, KERNEL, KERNEL_BLOCKS, address_of, record};
use crate::steps::Step;
use corehop_simulator::detail::{Mode, ModeUse, Replaced, replay_by_mode};
use corehop_simulator::{CacheLevel, Machine, ReplayOptions, Split, replay};
use corehop_traces::{Kind, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the replay and the oracle say of both modes in the same words.
fn told(user: &ModeUse, kernel: &ModeUse, replaced: &Value) -> Value {
    let of = |mode: &ModeUse| {
        let sets = mode.working_sets.iter();
        let sets = sets.map(|set| (set.request.0, [set.code_lines, set.data_lines, set.lines]));
        json!({ "counters": mode.counters, "sets": sets.collect::<Vec<_>>() })
    };
    json!([of(user), of(kernel), replaced])
}

/// Adds what `after` counts more than `before` to `sum`.
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

fn name(level: CacheLevel) -> &'static str {
    match level {
        CacheLevel::L1I => "l1i",
        CacheLevel::L1D => "l1d",
        CacheLevel::L2 => "l2",
        CacheLevel::L3 => "l3",
    }
}

/// Of a request and a mode, the lines of code and those of data.
type Sets = BTreeMap<(u32, usize), [HashSet<u64>; 2]>;

/// The same by the oracle, step by step; threads enter functions of `split` only.
fn naive(
    trace: &Trace,
    steps: &[Step],
    machine: &Machine,
    split: &[(u32, u32)],
    warm_up: u32,
) -> Value {
    let cores = split.iter().map(|(_, core)| core + 1).max().unwrap_or(1);
    let mut oracle = Oracle::new(machine, cores);
    let counters = |oracle: &Oracle| {
        json!(
            oracle
                .counters()
                .into_iter()
                .sum::<corehop_simulator::Counters>()
        )
    };
    let mut sums = [counters(&oracle), counters(&oracle)];
    let mut replaced = json!({ "l1i": {}, "l1d": {}, "l2": {}, "l3": {} });
    for counts in replaced.as_object_mut().unwrap().values_mut() {
        *counts = json!(Replaced::default());
    }
    let (zero, none_replaced) = (sums[0].clone(), replaced.clone());
    let (mut last, mut sets) = (HashMap::new(), Sets::new());
    let (mut core_of, mut request_of, mut begun) = ([0; 2], [None; 2], 0);
    let mut counting = warm_up == 0;
    for step in steps {
        let thread = step.thread as usize;
        if step.begins_request {
            request_of[thread] = Some(begun);
            begun += 1;
        }
        if !counting && request_of[thread] >= Some(warm_up) {
            counting = true;
            (sums, replaced) = ([zero.clone(), zero.clone()], none_replaced.clone());
        }
        let mode = usize::from(address_of(step.block) >= 1 << 63);
        let before = counters(&oracle);
        if let Some(&(_, core)) = split.iter().find(|(function, _)| *function == step.block)
            && std::mem::replace(&mut core_of[thread], core as usize) != core as usize
        {
            oracle.charge(core as usize, machine.hop_cost_cycles);
        }
        let fetch = (address_of(step.block), 4, Kind::Fetch);
        let data = step.data.iter().map(|&(address, store)| {
            let kind = if store { Kind::Store } else { Kind::Load };
            (address, 8, kind)
        });
        for (address, size, kind) in [fetch].into_iter().chain(data) {
            for line in address / 64..=(address + size - 1) / 64 {
                last.insert(line, mode);
                oracle.access(core_of[thread], kind, line);
                for event in oracle.events.drain(..) {
                    if let Event::Replaced(level, _, _, victim) = event {
                        let modes = ["user", "kernel"];
                        let key = format!("{}_by_{}", modes[last[&victim]], modes[mode]);
                        let count = &mut replaced[name(level)][key];
                        *count = (count.as_u64().unwrap() + 1).into();
                    }
                }
                if let Some(request) = request_of[thread] {
                    let lines = sets.entry((request, mode)).or_default();
                    lines[usize::from(kind != Kind::Fetch)].insert(line);
                }
            }
        }
        add_change(&mut sums[mode], &before, &counters(&oracle));
    }
    if !counting {
        (sums, replaced) = ([zero.clone(), zero], none_replaced);
    }
    let of = |mode: usize| {
        let counted = sets.iter().filter(|((request, of), _)| {
            *of == mode && *request >= warm_up && trace.requests()[*request as usize].complete
        });
        let sizes = counted.map(|((request, _), [code, data])| {
            let either = code.union(data).count();
            (*request, [code.len(), data.len(), either])
        });
        json!({ "counters": sums[mode], "sets": sizes.collect::<Vec<_>>() })
    };
    json!([of(0), of(1), replaced])
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let address = prop_oneof![
        0u64..1500,
        (0u64..1500).prop_map(|near| KERNEL + 4096 + near)
    ];
    let data = vec((address, any::<bool>()), 0..4);
    let blocks = prop_oneof![0..2 * FUNCTIONS, KERNEL_BLOCKS];
    let step = (0u32..2, prop::bool::weighted(0.1), blocks, data);
    let step = step.prop_map(|(thread, begins_request, block, data)| Step {
        thread,
        begins_request,
        block,
        data,
    });
    vec(step, 1..80)
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
            let replaced = json!(modes.replaced);
            let expected = naive(&trace, &steps, &machine, &split, warm_up);
            equal(&told(&modes.user, &modes.kernel, &replaced), &expected)?;
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
    // Who makes an access counts, and not whose address it is to.
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
