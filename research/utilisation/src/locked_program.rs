//! A program of threads that take locks, the input of both models.
//!
//! It is Algorithm 1 of Barghi, "Improving the Performance of User-level Runtime Systems for
//! Concurrent Applications" (thesis, University of Waterloo). In an endless loop, each thread works
//! for `t_ncs`, picks one of L locks at random, acquires it, works for `t_cs` and releases it.
//! Names are those of the thesis.

/// The times of an iteration, and the number of locks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockedProgram {
    /// L: number of locks, at least 1; each iteration takes one at random.
    pub locks: u32,
    /// Time of a critical section, under the lock.
    pub t_cs: f64,
    /// Time of the rest of an iteration.
    pub t_ncs: f64,
}

impl LockedProgram {
    /// Returns the time of an iteration without waiting.
    pub fn iteration(&self) -> f64 {
        self.t_cs + self.t_ncs
    }

    /// Returns the number of cores the program can use with any number of threads, each on a
    /// separate core: equation 6.9 of the thesis. It is the limit of both models.
    pub fn most_cores(&self) -> f64 {
        f64::from(self.locks) * self.iteration() / self.t_cs
    }
}
