//! The four classes of a function's lines, and the counts of each.
//!
//! `research/characterize.md` has the full definitions. A line is *phase-local* to a function if
//! every access to it was made while a call of the function was open, otherwise *phase-global*. It
//! is *session-local* if only one session accessed it, inside the function or not, otherwise
//! *session-global*. Lines of loads and stores are data, lines of fetches are code; each kind is
//! classified separately.

/// The kinds of lines that are classified separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingSet {
    /// Lines loaded or stored.
    Data = 0,
    /// Lines fetched.
    Code = 1,
}

/// Lines of one class, and accesses to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Number of distinct lines.
    pub lines: u64,
    /// Accesses of the function, including the functions that it calls.
    pub accesses: u64,
    /// Stores among these.
    pub stores: u64,
    /// Accesses to the same lines outside the function; 0 for phase-local lines.
    pub accesses_of_others: u64,
    /// Stores among these.
    pub stores_of_others: u64,
}

/// All lines of a function, or of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of distinct lines.
    pub lines: u64,
    /// Number of loads and stores, or of fetches.
    pub accesses: u64,
    /// Stores among these.
    pub stores: u64,
}

/// The classes of a function's data, or of its code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Indexed by whether lines are phase-global, then by whether they are session-global.
    by_class: [[Class; 2]; 2],
}

/// A function's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionClasses {
    /// Loads and stores.
    pub data: Classes,
    /// Fetches.
    pub code: Classes,
}

/// The server's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Loads and stores.
    pub data: Sum,
    /// Fetches.
    pub code: Sum,
}

impl Class {
    /// Returns the share of stores in the function's accesses to the class; `None` without
    /// accesses.
    pub fn update_ratio(&self) -> Option<f64> {
        (self.accesses > 0).then(|| self.stores as f64 / self.accesses as f64)
    }

    /// Returns the sum of two classes.
    #[must_use]
    pub fn with(mut self, other: Class) -> Class {
        self.lines += other.lines;
        self.accesses += other.accesses;
        self.stores += other.stores;
        self.accesses_of_others += other.accesses_of_others;
        self.stores_of_others += other.stores_of_others;
        self
    }
}

impl Sum {
    pub(crate) fn add(&mut self, accesses: u64, stores: u64) {
        self.lines += 1;
        self.accesses += accesses;
        self.stores += stores;
    }
}

impl Classes {
    /// Returns one class.
    pub fn of(&self, phase_global: bool, session_global: bool) -> Class {
        self.by_class[usize::from(phase_global)][usize::from(session_global)]
    }

    pub(crate) fn of_mut(&mut self, phase_global: bool, session_global: bool) -> &mut Class {
        &mut self.by_class[usize::from(phase_global)][usize::from(session_global)]
    }

    /// Returns phase-local or phase-global lines, of one session or of several.
    pub fn both(&self, phase_global: bool) -> Class {
        self.of(phase_global, false)
            .with(self.of(phase_global, true))
    }

    /// Returns the sum of all classes.
    pub fn all(&self) -> Class {
        self.both(false).with(self.both(true))
    }
}

impl FunctionClasses {
    /// Returns its data or its code.
    pub fn of(&self, working_set: WorkingSet) -> &Classes {
        match working_set {
            WorkingSet::Data => &self.data,
            WorkingSet::Code => &self.code,
        }
    }

    pub(crate) fn of_mut(&mut self, working_set: WorkingSet) -> &mut Classes {
        match working_set {
            WorkingSet::Data => &mut self.data,
            WorkingSet::Code => &mut self.code,
        }
    }
}

impl Totals {
    pub(crate) fn of_mut(&mut self, working_set: WorkingSet) -> &mut Sum {
        match working_set {
            WorkingSet::Data => &mut self.data,
            WorkingSet::Code => &mut self.code,
        }
    }
}
