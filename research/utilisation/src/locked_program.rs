//! A program of threads that take locks, as both models of it see it.
//!
//! It is Algorithm 1 of Barghi, "Improving the Performance of User-level Runtime Systems for
//! Concurrent Applications" (thesis, University of Waterloo): each thread, for ever, works for
//! `t_ncs`, picks one of L locks at random, acquires it, works for `t_cs` and releases it. Names
//! are the thesis's.

/// What threads do between two iterations, and how many locks they have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockedProgram {
    /// L: locks, at least 1; each iteration takes one at random.
    pub locks: u32,
    /// Time of a critical section, under the lock.
    pub t_cs: f64,
    /// Time of the rest of an iteration.
    pub t_ncs: f64,
}

impl LockedProgram {
    /// Time of an iteration that waits for nobody.
    pub fn iteration(&self) -> f64 {
        self.t_cs + self.t_ncs
    }

    /// How many cores the program can use with any number of threads, each on a core of its own:
    /// equation 6.9 of the thesis. Both models come to it.
    pub fn most_cores(&self) -> f64 {
        f64::from(self.locks) * self.iteration() / self.t_cs
    }
}
