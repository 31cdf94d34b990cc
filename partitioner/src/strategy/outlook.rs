//! How a function's core depends on the rest of a split: the functions that may be called next.
//!
//! After each call of a function, its core keeps the thread until a chosen function is called. So
//! the occurrences on it depend, for each call, on the *first chosen function of a list*: the
//! functions in the order of their first calls from there on, up to the function's own next call.
//! Servers handle few kinds of requests, so most of a function's lists are equal, and the distinct
//! ones are kept. The first of the chosen functions also gets the threads' execution before any
//! chosen call: one list per thread, from its beginning.

use std::collections::HashSet;

/// Functions in the order in which they may end the thread's stay on a core.
pub(super) struct List {
    /// By function: its position in the list, or [`ABSENT`].
    places: Vec<u16>,
    /// By number of decided functions, from 0: the first position of an undecided function.
    undecided: Vec<u16>,
}

/// Position of functions that are not in the list.
pub(super) const ABSENT: u16 = u16::MAX;

/// All lists.
pub(super) struct Outlook {
    pub lists: Vec<List>,
    /// By function: the lists of its calls, as indices.
    pub of_functions: Vec<Vec<usize>>,
    /// The lists of the threads' beginnings.
    pub of_beginnings: Vec<usize>,
}

impl Outlook {
    /// Builds the lists of threads that make these calls to `functions` functions.
    pub fn new(calls: &[Vec<u32>], functions: usize) -> Outlook {
        let mut outlook = Outlook {
            lists: Vec::new(),
            of_functions: Vec::new(),
            of_beginnings: Vec::new(),
        };
        for function in 0..functions as u32 {
            let mut lists = HashSet::new();
            let mut indices = Vec::new();
            for thread in calls {
                let places = (0..thread.len()).filter(|&place| thread[place] == function);
                for place in places {
                    let list = following(&thread[place + 1..], Some(function));
                    if lists.insert(list.clone()) {
                        indices.push(outlook.add(list, functions));
                    }
                }
            }
            outlook.of_functions.push(indices);
        }
        let beginnings: HashSet<Vec<u32>> =
            calls.iter().map(|thread| following(thread, None)).collect();
        let mut beginnings: Vec<_> = beginnings.into_iter().collect();
        beginnings.sort_unstable();
        for list in beginnings {
            let index = outlook.add(list, functions);
            outlook.of_beginnings.push(index);
        }
        outlook
    }

    fn add(&mut self, list: Vec<u32>, functions: usize) -> usize {
        let mut places = vec![ABSENT; functions];
        for (place, &function) in (0..).zip(&list) {
            places[function as usize] = place;
        }
        let first_from = |decided: usize| places[decided..].iter().copied().min();
        let undecided = (0..=functions).map(|decided| first_from(decided).unwrap_or(ABSENT));
        self.lists.push(List {
            undecided: undecided.collect(),
            places,
        });
        self.lists.len() - 1
    }
}

impl List {
    /// Returns the position of `function`, or [`ABSENT`].
    pub fn place(&self, function: u32) -> u16 {
        self.places[function as usize]
    }

    /// Whether the function that ends the stay is settled: functions below `decided` are decided,
    /// and the first chosen one is at position `first`.
    pub fn is_settled(&self, first: u16, decided: u32) -> bool {
        let undecided = self.undecided[decided as usize];
        undecided == ABSENT || first < undecided
    }
}

/// Returns functions in the order of their first call, until `function` is called.
fn following(calls: &[u32], function: Option<u32>) -> Vec<u32> {
    let mut list: Vec<u32> = Vec::new();
    for &called in calls.iter().take_while(|&&called| Some(called) != function) {
        if !list.contains(&called) {
            list.push(called);
        }
    }
    list
}
