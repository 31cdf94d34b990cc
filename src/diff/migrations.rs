//! Where threads move by two plans: what only one of them has, and what both have with other keys.
//!
//! A function is the same on both sides if build id and offset are, or else if file and symbol are:
//! a plan for another build has other offsets. Several calls of one function are entries of their
//! own; equal ones pair first, then those of the same call, and then the rest in its order.

use super::pairs::{BuiltFile, by_rules, paired};
use super::side::Setting;
use corehop_plan::{Destination, Mode, PlannedFunction};

/// The functions of two plans.
pub struct Migrations {
    /// How many are on both sides with the same keys.
    pub same: usize,
    /// Only A's, and only B's.
    pub only: [Vec<PlannedFunction>; 2],
    /// On both sides, with keys that differ.
    pub changed: Vec<Changed>,
}

/// A function of both plans.
pub struct Changed {
    /// A's and B's.
    pub functions: [PlannedFunction; 2],
    /// The keys that differ.
    pub keys: Vec<Setting>,
}

impl Migrations {
    /// Compares the functions of two plans.
    pub fn of(a: Vec<PlannedFunction>, b: Vec<PlannedFunction>) -> Migrations {
        let mut b: Vec<Option<PlannedFunction>> = b.into_iter().map(Some).collect();
        let pairs = pairs(&a, &b);
        let mut migrations = Migrations {
            same: 0,
            only: [Vec::new(), Vec::new()],
            changed: Vec::new(),
        };
        for (of_a, pair) in a.into_iter().zip(pairs) {
            match pair.and_then(|at| b[at].take()) {
                None => migrations.only[0].push(of_a),
                Some(of_b) if of_a == of_b => migrations.same += 1,
                Some(of_b) => migrations.changed.push(Changed {
                    keys: differing(&of_a, &of_b),
                    functions: [of_a, of_b],
                }),
            }
        }
        migrations.only[1] = b.into_iter().flatten().collect();
        migrations
    }

    /// Whether both plans move threads alike.
    pub fn is_empty(&self) -> bool {
        self.only.iter().all(Vec::is_empty) && self.changed.is_empty()
    }
}

/// The files of these functions, each once, in their order.
fn files<'f>(functions: impl Iterator<Item = &'f PlannedFunction>) -> Vec<BuiltFile<'f>> {
    let mut files = Vec::new();
    for function in functions {
        let file = BuiltFile::of(&function.module, &function.build_id);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// By function of A, that of B.
fn pairs(a: &[PlannedFunction], b: &[Option<PlannedFunction>]) -> Vec<Option<usize>> {
    let b: Vec<&PlannedFunction> = b.iter().flatten().collect();
    let (of_a, of_b) = (files(a.iter()), files(b.iter().copied()));
    let file_pairs = paired(&of_a, &of_b);
    let is_of_one_file = |a: &PlannedFunction, b: &PlannedFunction| {
        let [a, b] = [a, b].map(|of| BuiltFile::of(&of.module, &of.build_id));
        let pair = of_a
            .iter()
            .position(|of| *of == a)
            .and_then(|at| file_pairs[at]);
        pair.is_some_and(|at| of_b[at] == b)
    };
    let is_one_build = |a: &PlannedFunction, b: &PlannedFunction| {
        a.build_id.eq_ignore_ascii_case(&b.build_id) && a.offset == b.offset
    };
    let is_one_function = |a: &PlannedFunction, b: &PlannedFunction| {
        let is_other_build = !a.build_id.eq_ignore_ascii_case(&b.build_id);
        is_other_build && a.symbol == b.symbol && is_of_one_file(a, b)
    };
    let is_same =
        |a: &PlannedFunction, b: &PlannedFunction| is_one_build(a, b) || is_one_function(a, b);
    let a: Vec<&PlannedFunction> = a.iter().collect();
    by_rules(
        &a,
        &b,
        &[
            &|a, b| is_same(a, b) && (a.to, a.mode) == (b.to, b.mode),
            &|a, b| is_same(a, b) && call(a.to) == call(b.to),
            &|a, b| is_same(a, b),
        ],
    )
}

/// The call of a request that moves the thread; `None` where all calls do.
fn call(to: Destination) -> Option<u32> {
    match to {
        Destination::At(at) => Some(at.call),
        Destination::Core(_) | Destination::By(_) => None,
    }
}

/// The keys that differ, as a plan's file has them.
fn differing(a: &PlannedFunction, b: &PlannedFunction) -> Vec<Setting> {
    let keys = [keys(a), keys(b)];
    let [a, b] = keys;
    let pairs = a.into_iter().zip(b);
    let settings = pairs.map(|((name, a), (_, b))| Setting {
        name: name.into(),
        values: [a, b],
    });
    settings.filter(|of| of.values[0] != of.values[1]).collect()
}

/// All keys that an entry may have.
fn keys(of: &PlannedFunction) -> [(&'static str, Option<String>); 9] {
    let (core, by, after, call) = match of.to {
        Destination::Core(core) => (Some(core), None, None, None),
        Destination::By(by) => (None, Some(by.argument), Some(by.after), None),
        Destination::At(at) => (Some(at.core), None, None, Some(at.call)),
    };
    [
        ("module", Some(of.module.clone())),
        ("build_id", Some(of.build_id.clone())),
        ("offset", Some(format!("{:#x}", of.offset))),
        ("symbol", Some(of.symbol.clone())),
        ("core", core.map(|core| core.to_string())),
        ("by", by.map(|by| by.to_string())),
        ("after", after.map(|after| after.to_string())),
        ("call", call.map(|call| call.to_string())),
        ("mode", Some(mode(of.mode).into())),
    ]
}

/// As a plan's file has it.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enter => "enter",
        Mode::Call => "call",
        Mode::Count => "count",
    }
}
