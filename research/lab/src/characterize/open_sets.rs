//! The requested functions that are open on a thread, as the number of a set.
//!
//! Recursive calls of a function count once, so a set represents the phases that a thread is in,
//! not its call stack. Sets repeat: each is stored once, and a thread's set changes only when a
//! call begins or ends.

use corehop_traces::{Calls, Execution, FunctionId, OpenCalls, Trace};
use std::collections::HashMap;

/// The known sets, each with the indices of its functions among the requested ones, ascending.
#[derive(Clone, Debug)]
pub struct Sets {
    members: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
}

impl Default for Sets {
    /// Contains only the empty set, which has number 0.
    fn default() -> Self {
        let mut sets = Sets {
            members: Vec::new(),
            numbers: HashMap::new(),
        };
        sets.number(Vec::new());
        sets
    }
}

impl Sets {
    /// Returns the number of the set of these indices, in any order and with possible repetitions.
    pub fn number(&mut self, mut places: Vec<u32>) -> u32 {
        places.sort_unstable();
        places.dedup();
        let places: Box<[u32]> = places.into();
        if let Some(&number) = self.numbers.get(&places) {
            return number;
        }
        let number = self.members.len() as u32;
        self.members.push(places.clone());
        self.numbers.insert(places, number);
        number
    }

    /// Returns the indices of a set's functions.
    pub fn members(&self, number: u32) -> &[u32] {
        &self.members[number as usize]
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.members.len()
    }
}

/// The set of each thread, execution by execution.
pub struct OpenSets<'c> {
    open: OpenCalls<'c>,
    /// For each function of the trace: its index among the requested ones.
    places: Vec<Option<u32>>,
    current: Vec<u32>,
    /// All known sets.
    pub sets: Sets,
    /// Number of calls begun, for each requested function.
    pub calls: Vec<u64>,
}

impl<'c> OpenSets<'c> {
    /// Creates the state before the first execution; `calls` contains the calls of `functions`.
    pub fn new(trace: &Trace, calls: &'c Calls, functions: &[FunctionId]) -> OpenSets<'c> {
        let threads = trace.threads().len();
        let mut places = vec![None; trace.functions().len()];
        for (place, function) in (0..).zip(functions) {
            places[function.index()] = Some(place);
        }
        OpenSets {
            open: OpenCalls::new(calls, threads),
            places,
            current: vec![0; threads],
            sets: Sets::default(),
            calls: vec![0; functions.len()],
        }
    }

    /// Returns the set that is open on the execution's thread from its first access on.
    pub fn come(&mut self, execution: &Execution<'_>) -> u32 {
        let place = |function: FunctionId| self.places[function.index()];
        let (ended, begun) = self.open.come(execution);
        if let Some(place) = begun.and_then(place) {
            self.calls[place as usize] += 1;
        }
        let current = &mut self.current[execution.thread.index()];
        if ended > 0 || begun.is_some() {
            let open = self.open.of(execution.thread).iter();
            let places = open.filter_map(|open| place(open.function)).collect();
            *current = self.sets.number(places);
        }
        *current
    }
}

/// Returns the calls of these functions.
pub fn calls_of(trace: &Trace, functions: &[FunctionId]) -> Result<Calls, corehop_traces::Error> {
    let mut wanted = vec![false; trace.functions().len()];
    for function in functions {
        wanted[function.index()] = true;
    }
    Calls::of(trace, &wanted)
}
