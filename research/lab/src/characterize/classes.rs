//! The four classes of a function's lines, and what is told of each.
//!
//! Definitions, in `research/characterize.md` in full: a line is *phase-local* to a function
//! when every access to it was made while a call of the function was open, and *phase-global* when
//! others touched it too. It is *session-local* when one session alone touched it, inside the
//! function or not, else *session-global*. Loads and stores make data lines, fetches code lines;
//! each kind is classified by itself.

/// What lines are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingSet {
    /// Lines loaded from or stored to.
    Data = 0,
    /// Lines fetched from.
    Code = 1,
}

/// Lines of one class, and accesses to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Distinct lines.
    pub lines: u64,
    /// What the function made, those that it calls included.
    pub accesses: u64,
    /// Those of them that store.
    pub stores: u64,
    /// What was made of the same lines outside the function; 0 where they are phase-local.
    pub accesses_of_others: u64,
    /// Those of them that store.
    pub stores_of_others: u64,
}

/// All lines of a function, or of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Distinct lines.
    pub lines: u64,
    /// Loads and stores, or fetches.
    pub accesses: u64,
    /// Those of them that store.
    pub stores: u64,
}

/// The classes of a function's data, or of its code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// By whether lines are phase-global, then by whether they are session-global.
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
    /// Share of the function's accesses to the class that store; `None` where there are none.
    pub fn update_ratio(&self) -> Option<f64> {
        (self.accesses > 0).then(|| self.stores as f64 / self.accesses as f64)
    }

    /// Two classes as one.
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
    /// One class.
    pub fn of(&self, phase_global: bool, session_global: bool) -> Class {
        self.by_class[usize::from(phase_global)][usize::from(session_global)]
    }

    pub(crate) fn of_mut(&mut self, phase_global: bool, session_global: bool) -> &mut Class {
        &mut self.by_class[usize::from(phase_global)][usize::from(session_global)]
    }

    /// Phase-local or phase-global lines, of one session or of several.
    pub fn both(&self, phase_global: bool) -> Class {
        self.of(phase_global, false)
            .with(self.of(phase_global, true))
    }

    /// All of them.
    pub fn all(&self) -> Class {
        self.both(false).with(self.both(true))
    }
}

impl FunctionClasses {
    /// Its data or its code.
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
