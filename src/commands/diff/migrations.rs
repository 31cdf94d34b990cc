//! Compares where threads migrate in two plans: entries of one plan only, and entries whose keys
//! differ.
//!
//! A function is the same on both sides if build id and offset are equal. In another build, offsets
//! differ, so file and symbol are compared instead. Several calls of one function are separate
//! entries: equal ones pair first, then those of the same call, then the rest in order.

use super::pairs::{BuiltFile, by_rules, paired};
use super::side::Setting;
use corehop_plan::{Destination, Mode, PlannedFunction};

/// The functions of two plans.
pub struct Migrations {
    /// Number of functions on both sides with the same keys.
    pub same: usize,
    /// Functions of A only, and of B only.
    pub only: [Vec<PlannedFunction>; 2],
    /// Functions on both sides with different keys.
    pub changed: Vec<Changed>,
}

/// A function of both plans.
pub struct Changed {
    /// The functions of A and B.
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

    /// Returns whether both plans migrate threads in the same way.
    pub fn is_empty(&self) -> bool {
        self.only.iter().all(Vec::is_empty) && self.changed.is_empty()
    }
}

/// Returns the files of these functions in order, without duplicates.
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

/// For each function of A, returns the index of its counterpart in B.
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

/// Returns the call of a request that migrates the thread; `None` if all calls do.
fn call(to: Destination) -> Option<u32> {
    match to {
        Destination::At(at) => Some(at.call),
        Destination::Core(_) | Destination::By(_) => None,
    }
}

/// Returns the keys that differ, under the names that a plan file uses.
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

/// Returns all keys that an entry may have.
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

/// Returns the name of the mode in a plan file.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enter => "enter",
        Mode::Call => "call",
        Mode::Count => "count",
    }
}
