//! Accesses to each line: their number while each set of functions was open, and their sessions.
//!
//! Accesses from a trace or from a profile's samples are only counted. The classes are computed at
//! the end, when all accesses to a line are known. Most lines are accessed under few sets of open
//! functions, mostly the most recent one. Each line therefore keeps a short list with that set in
//! front.

use crate::characterize::classes::{Class, Classes, FunctionClasses, Totals, WorkingSet};
use crate::characterize::open_sets::Sets;
use corehop_simulator::Lines;
use corehop_traces::Kind;

/// Number of lines whose ids are found without hashing.
const RECENT_LINES: usize = 1 << 12;

/// Marks a line that several sessions have accessed.
const SEVERAL: u32 = u32::MAX;
/// Marks a line that no session has accessed.
const NONE: u32 = u32::MAX - 1;

/// Counts of accesses to lines.
pub struct Touches {
    numbers: Lines,
    lines: Vec<Line>,
}

/// The accesses to one line.
struct Line {
    /// The session that accessed it, separately for loads and stores, and for fetches.
    sessions: [u32; 2],
    touched: Vec<Touched>,
}

/// Number of accesses to a line while the same functions were open, by kind.
struct Touched {
    set: u32,
    counts: [u64; 3],
}

/// Accesses of one function to one line.
#[derive(Clone, Copy, Default)]
struct Own {
    accesses: u64,
    stores: u64,
}

impl Default for Touches {
    /// No accesses.
    fn default() -> Self {
        Touches {
            numbers: Lines::new(RECENT_LINES),
            lines: Vec::new(),
        }
    }
}

impl Touches {
    /// Counts one reference to a line for this session, while the functions of this set are open.
    #[inline]
    pub fn touch(&mut self, line: u64, kind: Kind, (set, session): (u32, u32)) {
        let lines = &mut self.lines;
        let id = self.numbers.id(line, |_| {
            lines.push(Line {
                sessions: [NONE; 2],
                touched: Vec::new(),
            });
        });
        let line = &mut self.lines[id.index()];
        let known = &mut line.sessions[usize::from(kind == Kind::Fetch)];
        *known = match *known {
            NONE => session,
            same if same == session => session,
            _ => SEVERAL,
        };
        let place = line.touched.iter().position(|of| of.set == set);
        let place = place.unwrap_or_else(|| {
            let counts = [0; 3];
            line.touched.push(Touched { set, counts });
            line.touched.len() - 1
        });
        line.touched.swap(0, place);
        line.touched[0].counts[kind as usize] += 1;
    }

    /// Returns the sum of all lines, and the classes of each of `functions` functions, whose
    /// indices are in `sets`.
    pub fn classes(&self, sets: &Sets, functions: usize) -> (Totals, Vec<FunctionClasses>) {
        let mut totals = Totals::default();
        let mut found = vec![FunctionClasses::default(); functions];
        let mut own = vec![Own::default(); functions];
        for line in &self.lines {
            for working_set in [WorkingSet::Data, WorkingSet::Code] {
                let all = line.sum(working_set, sets, &mut own);
                if all.accesses == 0 {
                    continue;
                }
                let is_of_several = line.sessions[working_set as usize] == SEVERAL;
                totals.of_mut(working_set).add(all.accesses, all.stores);
                for touched in &line.touched {
                    for &place in sets.members(touched.set) {
                        // The first set resets the sum, so each function counts a line once.
                        let own = std::mem::take(&mut own[place as usize]);
                        if own.accesses > 0 {
                            let classes = found[place as usize].of_mut(working_set);
                            let is_shared = own.accesses < all.accesses;
                            add(classes, [is_shared, is_of_several], own, all);
                        }
                    }
                }
            }
        }
        (totals, found)
    }
}

/// Counts a line for a function that made `own` of its accesses, which are `all`.
fn add(classes: &mut Classes, [phase_global, session_global]: [bool; 2], own: Own, all: Own) {
    let class: &mut Class = classes.of_mut(phase_global, session_global);
    class.lines += 1;
    class.accesses += own.accesses;
    class.stores += own.stores;
    class.accesses_of_others += all.accesses - own.accesses;
    class.stores_of_others += all.stores - own.stores;
}

impl Line {
    /// Adds the accesses of each function to the line to its `own`; returns the sum over all
    /// accesses.
    fn sum(&self, working_set: WorkingSet, sets: &Sets, own: &mut [Own]) -> Own {
        let mut all = Own::default();
        for touched in &self.touched {
            let [fetches, loads, stores] = touched.counts;
            let (accesses, stores) = match working_set {
                WorkingSet::Data => (loads + stores, stores),
                WorkingSet::Code => (fetches, 0),
            };
            all.accesses += accesses;
            all.stores += stores;
            for &place in sets.members(touched.set) {
                own[place as usize].accesses += accesses;
                own[place as usize].stores += stores;
            }
        }
        all
    }
}
