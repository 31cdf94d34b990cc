//! Functions whose core depends on an argument: the object of each call, as the program itself
//! printed it, and the core of the object by docs/reference/objects.md.

use crate::placed::Table;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// The argument that determines the core.
#[derive(Clone, Copy, Debug)]
pub struct ByObject {
    /// The number of the argument, from 1.
    pub argument: usize,
    /// Number of calls after which an object gets a core.
    pub after: u64,
}

impl ByObject {
    pub fn to_toml(self) -> String {
        format!(
            "by = \"argument {}\"\nafter = {}",
            self.argument, self.after
        )
    }
}

/// The objects in the arguments of calls, by thread (in the order of first executions) and
/// function.
#[derive(Debug, Default)]
pub struct Told(HashMap<(usize, String), Vec<u64>>);

impl Told {
    /// Parses a program's lines with a thread, a function, and an address. `threads` are the ids in
    /// the order of first executions.
    pub fn new(text: &str, threads: &[u64]) -> Told {
        let mut told = Told::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [thread, function, about] = words[..] else {
                panic!("{line}");
            };
            let thread: u64 = thread.parse().unwrap();
            let thread = threads.iter().position(|&number| number == thread);
            let calls = told.0.entry((thread.expect(line), function.into()));
            let about = u64::from_str_radix(about, 16).unwrap();
            calls.or_default().push(about);
        }
        told
    }

    /// Returns the number of recorded calls of a function.
    pub fn calls(&self, function: &str) -> u64 {
        let calls = self.0.iter().filter(|((_, of), _)| of == function);
        calls.map(|(_, about)| about.len() as u64).sum()
    }
}

/// The objects of one process, updated call by call.
pub struct Objects<'a> {
    told: &'a Told,
    table: Table,
    /// Number of calls by thread and function.
    calls: HashMap<(usize, String), usize>,
    /// By function: calls, those with an object, those that stayed, and new objects.
    counts: BTreeMap<String, (ByObject, [u64; 4])>,
}

impl<'a> Objects<'a> {
    pub fn new(told: &'a Told, cores: usize) -> Objects<'a> {
        Objects {
            told,
            table: Table::new(cores),
            calls: HashMap::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Returns the core of the object in the next call of a function by a thread.
    pub fn core_of(&mut self, thread: usize, function: &str, by: ByObject) -> Option<usize> {
        let key = (thread, function.to_owned());
        let number = self.calls.entry(key.clone()).or_default();
        let about = self.told.0[&key][*number];
        *number += 1;
        let came = self.table.came;
        let core = self.table.call(thread, about, by.after);
        let counts = self.counts.entry(function.to_owned());
        let counts = &mut counts.or_insert((by, [0; 4])).1;
        counts[0] += 1;
        counts[1] += u64::from(about != 0);
        counts[2] += u64::from(about != 0 && core.is_none());
        counts[3] += self.table.came - came;
        core
    }

    /// Returns a replay's output for each such function, by its symbol.
    pub fn to_json(&self) -> Vec<Value> {
        let counts = self.counts.iter();
        let value = |(symbol, (by, counts)): (&String, &(ByObject, [u64; 4]))| {
            json!({
                "symbol": symbol,
                "argument": by.argument,
                "after": by.after,
                "calls": counts[0],
                "known": counts[1],
                "early": counts[2],
                "objects": counts[3],
            })
        };
        counts.map(value).collect()
    }
}
