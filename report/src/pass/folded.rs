//! L2 misses by call stack, as flame graphs read them: `one core;main;parse 12`, a line for each
//! stack, under `one core` and under each core of the split, so that one graph shows both.
//!
//! Stacks repeat millions of times, so each is a node of a tree: its function below its caller's
//! node. An entry costs one step in the tree, and a miss one addition.
//!
//! The format cannot express a semicolon that is part of a name. Tools that fold perf's records
//! write a colon instead, so two functions whose names differ in nothing else become one. Here such
//! a character is written as its number after a backslash, and so is the backslash itself: every
//! name can be read back.

use super::calls::OpenCalls;
use super::replay_pass::{ReplayStep, StepListener};
use corehop_plans::acts;
use corehop_simulator::detail::Attribution;
use corehop_traces::{Calls, Trace};
use std::collections::{BTreeMap, HashMap};

/// Stands for the caller of outermost calls.
const ROOT: u32 = 0;

/// Collects misses, step by step; none before counting starts.
pub struct Folded<'t> {
    trace: &'t Trace,
    attribution: Attribution,
    open: OpenCalls<'t>,
    /// By node: its caller, and whose code it is, as the attribution numbers owners.
    nodes: Vec<(u32, u32)>,
    places: HashMap<(u32, u32), u32>,
    /// By thread: the nodes of its open calls.
    stacks: Vec<Vec<u32>>,
    /// By place, where [`ONE_CORE`] is everything on one core, and node.
    missed: BTreeMap<(u32, u32), u64>,
}

/// Stands for one core among the cores of a split.
const ONE_CORE: u32 = u32::MAX;

impl<'t> Folded<'t> {
    /// `calls` has those of all functions.
    pub fn new(trace: &'t Trace, calls: &'t Calls) -> Folded<'t> {
        let threads = trace.threads().len();
        Folded {
            trace,
            attribution: Attribution::of(trace),
            open: OpenCalls::new(calls, threads),
            nodes: vec![(ROOT, 0)],
            places: HashMap::new(),
            stacks: vec![Vec::new(); threads],
            missed: BTreeMap::new(),
        }
    }

    fn below(&mut self, caller: u32, owner: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.places.entry((caller, owner)).or_insert(next);
        if node == next {
            self.nodes.push((caller, owner));
        }
        node
    }

    /// The lines, in the order of their text.
    pub fn text(&self) -> String {
        let mut sums = BTreeMap::<String, u64>::new();
        for (&(core, node), missed) in &self.missed {
            let place = match core {
                ONE_CORE => "one core".to_owned(),
                core => format!("split;core {core}"),
            };
            *sums.entry(place + &self.stack(node)).or_default() += missed;
        }
        let line = |(stack, missed): (String, u64)| format!("{stack} {missed}\n");
        sums.into_iter().map(line).collect()
    }

    /// The names from the outermost call on, each after a semicolon.
    fn stack(&self, mut node: u32) -> String {
        let mut names = Vec::new();
        while node != ROOT {
            let (caller, owner) = self.nodes[node as usize];
            let name = self.attribution.owner(owner as usize).name(self.trace);
            names.push(format!(";{}", spelled(&name)));
            node = caller;
        }
        names.reverse();
        names.concat()
    }
}

/// A name without what ends names or lines: `operator;` is `operator\x3b`.
fn spelled(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            ';' | '\\' => text += &format!("\\x{:02x}", u32::from(letter)),
            _ if acts(letter) && letter <= '\u{ff}' => {
                text += &format!("\\x{:02x}", u32::from(letter));
            }
            _ if acts(letter) => text += &format!("\\u{:04x}", u32::from(letter)),
            _ => text.push(letter),
        }
    }
    text
}

impl StepListener for Folded<'_> {
    fn step(&mut self, step: &ReplayStep<'_>) {
        let execution = step.execution;
        let thread = execution.thread.index();
        let (ended, entered) = self.open.come(execution);
        let left = self.stacks[thread].len() - ended;
        self.stacks[thread].truncate(left);
        if let Some(function) = entered {
            let caller = self.stacks[thread].last().copied().unwrap_or(ROOT);
            let node = self.below(caller, function.0);
            self.stacks[thread].push(node);
        }
        if !step.counted
            || !step
                .references
                .iter()
                .any(|reference| reference.missed != [false; 2])
        {
            return;
        }
        let owner = self.attribution.owner_of(execution.code_block) as u32;
        let mut node = self.stacks[thread].last().copied().unwrap_or(ROOT);
        // Code that nothing was seen to call: after a jump, or in a function without a symbol.
        if node == ROOT || self.nodes[node as usize].1 != owner {
            node = self.below(node, owner);
        }
        for (place, core) in [ONE_CORE, step.core.0].into_iter().enumerate() {
            let missed = step
                .references
                .iter()
                .filter(|reference| reference.missed[place]);
            let missed = missed.count() as u64;
            if missed > 0 {
                *self.missed.entry((core, node)).or_default() += missed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spelled;
    use proptest::prelude::*;

    /// The name that was spelled so.
    fn read(text: &str) -> String {
        let mut parts = text.split('\\');
        let mut name = parts.next().unwrap().to_owned();
        for part in parts {
            let digits = 1..if part.starts_with('x') { 3 } else { 5 };
            let number = u32::from_str_radix(&part[digits.clone()], 16).unwrap();
            name.push(char::from_u32(number).unwrap());
            name += &part[digits.end..];
        }
        name
    }

    #[test]
    fn only_what_would_end_a_name_or_a_line_is_spelled_out() {
        for (name, text) in [
            ("std::vector<int>::operator[](long) const", None),
            ("a%3B&#59:x3b", None),
            ("f;g", Some("f\\x3bg")),
            ("f:g", None),
            ("f\\x3bg", Some("f\\x5cx3bg")),
            ("f\ng\r\u{1b}[2J\u{9b}", Some("f\\x0ag\\x0d\\x1b[2J\\x9b")),
            ("f\u{202e}g", Some("f\\u202eg")),
        ] {
            assert_eq!(spelled(name), text.unwrap_or(name));
            assert_eq!(read(&spelled(name)), name);
        }
    }

    proptest! {
        #[test]
        fn every_name_can_be_had_back(name in r"[;:\\x3b5cu\u{202e}\PC\n\r\t]{0,20}") {
            let text = spelled(&name);
            prop_assert!(!text.contains([';', '\n', '\r']));
            prop_assert_eq!(read(&text), name);
        }
    }
}
