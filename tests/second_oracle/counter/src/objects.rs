//! Functions that go by an argument: which object each call is about, as the program itself told
//! it, and which core that has, by docs/reference/objects.md.

use crate::placed::Table;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// What a function goes by.
#[derive(Clone, Copy, Debug)]
pub struct ByObject {
    /// Which argument, from 1.
    pub argument: usize,
    /// How many calls leave an object without a core.
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

/// What threads called functions with: by thread, as threads first come in the trace, and by
/// function, an object for each of its calls.
#[derive(Debug, Default)]
pub struct Told(HashMap<(usize, String), Vec<u64>>);

impl Told {
    /// Of a program's lines of a thread, a function and an address. `threads` are their numbers as
    /// they first come.
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

    /// How many calls of a function it tells of.
    pub fn calls(&self, function: &str) -> u64 {
        let calls = self.0.iter().filter(|((_, of), _)| of == function);
        calls.map(|(_, about)| about.len() as u64).sum()
    }
}

/// The objects of one process, as its calls go by.
pub struct Objects<'a> {
    told: &'a Told,
    table: Table,
    /// By thread and function, how many calls there were.
    calls: HashMap<(usize, String), usize>,
    /// By function: calls, those about an object, those of these that stayed, objects that came.
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

    /// The core of the object that the next call of a function by a thread is about.
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

    /// What a replay says of each such function, by its symbol.
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
