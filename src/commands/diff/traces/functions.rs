//! Compares what each function did in two traces.
//!
//! If both traces have the same build of a file, a function is identified by its offset, otherwise
//! by its symbol. Functions with the same symbol pair in order. Code outside known functions counts
//! as its file's.

use corehop_simulator::detail::{ByFunction, CodeOwner, FunctionCost};
use corehop_traces::{FunctionId, Trace};
use std::collections::BTreeMap;

/// All executed code.
pub struct Functions {
    /// In both traces, but different; the largest change in L2 misses comes first.
    pub changed: Vec<FunctionPair>,
    /// Number of functions that did the same in both traces.
    pub same: usize,
    /// In A only, and in B only; the most L2 misses come first.
    pub only: [Vec<FunctionPair>; 2],
}

/// A function, or code outside known functions.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionPair {
    /// Its display name.
    pub name: String,
    /// Its linker symbol; `None` for code outside known functions.
    pub symbol: Option<String>,
    /// The path of its file, in A if it is there; `None` for code outside all files.
    pub module: Option<String>,
    /// The counts of A and B.
    pub uses: [Option<Use>; 2],
}

/// Its counts, per request or in total.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    pub accesses: f64,
    pub l1i_misses: f64,
    pub l1d_misses: f64,
    pub l2_misses: f64,
    pub l3_misses: f64,
}

impl FunctionPair {
    /// Returns how many more L2 misses it has in B.
    pub fn change(&self) -> f64 {
        let [a, b] = self.both();
        b.l2_misses - a.l2_misses
    }

    /// Returns the counts of A and B; zero if it did not run.
    pub fn both(&self) -> [Use; 2] {
        self.uses.map(Option::unwrap_or_default)
    }

    /// Sorts by change, the largest first: by L2 misses, then by accesses.
    fn sort(pairs: &mut [FunctionPair]) {
        let size = |of: &FunctionPair| {
            let [a, b] = of.both();
            (of.change().abs(), (b.accesses - a.accesses).abs())
        };
        pairs.sort_by(|one, other| {
            let ((misses, accesses), (of_other, its_accesses)) = (size(one), size(other));
            let by_size = of_other.total_cmp(&misses);
            let by_size = by_size.then(its_accesses.total_cmp(&accesses));
            let names = (&one.name, &one.module, &one.symbol);
            by_size.then_with(|| names.cmp(&(&other.name, &other.module, &other.symbol)))
        });
    }
}

impl Functions {
    /// Pairs the functions. `per` is the number of requests by which counts are divided. `modules`
    /// maps each file of A to its counterpart in B.
    pub fn of(
        traces: [&Trace; 2],
        replays: &[ByFunction; 2],
        per: [u64; 2],
        modules: &[Option<usize>],
    ) -> Functions {
        let keys = Keys::of(traces, modules);
        let mut pairs: BTreeMap<Key, FunctionPair> = BTreeMap::new();
        for (side, replay) in replays.iter().enumerate() {
            for cost in &replay.functions {
                let key = keys.key(side, cost.owner);
                let pair = pairs.entry(key);
                let pair = pair.or_insert_with(|| described(traces[side], cost.owner));
                pair.uses[side] = Some(used(cost, per[side] as f64));
            }
        }
        let mut functions = Functions {
            changed: Vec::new(),
            same: 0,
            only: [Vec::new(), Vec::new()],
        };
        for pair in pairs.into_values() {
            match pair.uses {
                [Some(a), Some(b)] if a == b => functions.same += 1,
                [Some(_), Some(_)] => functions.changed.push(pair),
                [Some(_), None] => functions.only[0].push(pair),
                _ => functions.only[1].push(pair),
            }
        }
        let [only_a, only_b] = &mut functions.only;
        for pairs in [&mut functions.changed, only_a, only_b] {
            FunctionPair::sort(pairs);
        }
        functions
    }

    /// Returns whether all code did the same in both traces.
    pub fn is_same(&self) -> bool {
        self.changed.is_empty() && self.only.iter().all(Vec::is_empty)
    }
}

fn used(cost: &FunctionCost, per: f64) -> Use {
    let counters = &cost.cost.counters;
    let each = |total: u64| total as f64 / per;
    Use {
        accesses: each(counters.accesses()),
        l1i_misses: each(counters.l1i.misses()),
        l1d_misses: each(counters.l1d.misses()),
        l2_misses: each(counters.l2.misses()),
        l3_misses: each(counters.l3.misses()),
    }
}

fn described(trace: &Trace, owner: CodeOwner) -> FunctionPair {
    let path = |module: u32| trace.modules()[module as usize].path.clone();
    let (symbol, module) = match owner {
        CodeOwner::Function(function) => {
            let function = &trace.functions()[function.index()];
            (Some(function.symbol.clone()), Some(path(function.module)))
        }
        CodeOwner::Module(module) => (None, Some(path(module))),
        CodeOwner::Elsewhere => (None, None),
    };
    FunctionPair {
        name: owner.name(trace),
        symbol,
        module,
        uses: [None, None],
    }
}

/// Identifies code in the other trace. Files are numbered: first those of A, then those that only B
/// has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A function of a file with the same build in both traces, by its offset.
    Placed(usize, u64),
    /// A function of another file: by its symbol, and its index among those with that symbol.
    Named(usize, String, usize),
    /// Code outside known functions.
    File(usize),
    Elsewhere,
}

/// The keys of all functions.
struct Keys<'t> {
    traces: [&'t Trace; 2],
    /// By side and file: its number, and whether both sides have the same build.
    files: [Vec<(usize, bool)>; 2],
    /// By side and function: its index among those with its symbol in its file.
    ordinals: [Vec<usize>; 2],
}

impl<'t> Keys<'t> {
    fn of(traces: [&'t Trace; 2], modules: &[Option<usize>]) -> Keys<'t> {
        let [a, b] = traces.map(Trace::modules);
        let is_one_build = |of_a: usize, of_b: usize| {
            let [a, b] = [&a[of_a], &b[of_b]].map(|module| &module.build_id);
            !a.is_empty() && a == b
        };
        let of_a = modules.iter().enumerate();
        let of_a = of_a.map(|(at, pair)| (at, pair.is_some_and(|pair| is_one_build(at, pair))));
        let of_b = (0..b.len()).map(|at| {
            let pair = modules.iter().position(|pair| *pair == Some(at));
            match pair {
                Some(of_a) => (of_a, is_one_build(of_a, at)),
                None => (a.len() + at, false),
            }
        });
        Keys {
            files: [of_a.collect(), of_b.collect()],
            ordinals: traces.map(ordinals),
            traces,
        }
    }

    fn key(&self, side: usize, owner: CodeOwner) -> Key {
        let file = |module: u32| self.files[side][module as usize];
        match owner {
            CodeOwner::Function(id) => {
                let function = &self.traces[side].functions()[id.index()];
                match file(function.module) {
                    (file, true) => Key::Placed(file, function.offset),
                    (file, false) => {
                        let ordinal = self.ordinals[side][id.index()];
                        Key::Named(file, function.symbol.clone(), ordinal)
                    }
                }
            }
            CodeOwner::Module(module) => Key::File(file(module).0),
            CodeOwner::Elsewhere => Key::Elsewhere,
        }
    }
}

/// For each function, returns how many functions of its file have its symbol and precede it.
fn ordinals(trace: &Trace) -> Vec<usize> {
    let functions = trace.functions();
    let mut by_place: Vec<FunctionId> = (0..functions.len()).map(FunctionId::from_index).collect();
    by_place.sort_by_key(|id| {
        let function = &functions[id.index()];
        (function.module, function.offset)
    });
    let mut seen: BTreeMap<(u32, &str), usize> = BTreeMap::new();
    let mut ordinals = vec![0; functions.len()];
    for id in by_place {
        let function = &functions[id.index()];
        let count = seen.entry((function.module, &function.symbol)).or_default();
        ordinals[id.index()] = *count;
        *count += 1;
    }
    ordinals
}
