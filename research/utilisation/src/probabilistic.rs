//! The probabilistic model of threads that take locks.
//!
//! Eyerman and Eeckhout, "Modeling critical sections in Amdahl's law and its implications for
//! multicore design" (ISCA 2010), extend Amdahl's law by critical sections. An execution takes the
//! longer of two times: that of an average thread, and that of the thread that meets all the
//! contention. Barghi's thesis (section 6.1) applies it to the program of [`LockedProgram`]; the
//! equation numbers are those of the thesis. Each thread has a separate core.

use crate::locked_program::LockedProgram;

/// The model of one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probabilistic {
    /// The parameters of the program.
    pub program: LockedProgram,
}

impl Probabilistic {
    /// Returns the probability that two critical sections contend, i.e. use the same lock (6.4).
    pub fn p_ctn(&self, threads: u32) -> f64 {
        match threads {
            0 | 1 => 0.0,
            _ => 1.0 / f64::from(self.program.locks),
        }
    }

    /// Returns the probability of being in a critical section (6.2).
    pub fn p_cs(&self) -> f64 {
        self.program.t_cs / self.program.iteration()
    }

    /// Returns the expected time between two iterations of the whole program (6.5).
    pub fn time(&self, threads: u32) -> f64 {
        let LockedProgram { t_cs, t_ncs, .. } = self.program;
        let (p_cs, p_ctn) = (self.p_cs(), self.p_ctn(threads));
        let threads = f64::from(threads);
        let average = t_cs * p_cs * p_ctn + (t_cs * (1.0 - p_cs * p_ctn) + t_ncs) / threads;
        let slowest = t_cs * p_ctn + (t_cs * (1.0 - p_ctn) + t_ncs) / (2.0 * threads);
        average.max(slowest)
    }

    /// Returns iterations of all threads per unit of time, R(T) (6.6).
    pub fn throughput(&self, threads: u32) -> f64 {
        1.0 / self.time(threads)
    }

    /// Returns the number of cores that threads use, U(T) (6.8).
    pub fn utilisation(&self, threads: u32) -> f64 {
        self.throughput(threads) * self.program.iteration()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// Figure 6.2 of the thesis: 16 locks, equal times inside and outside critical sections.
    const FIGURE: Probabilistic = Probabilistic {
        program: LockedProgram {
            locks: 16,
            t_cs: 1.0,
            t_ncs: 1.0,
        },
    };

    #[test]
    fn one_thread_waits_for_nobody() {
        close(FIGURE.time(1), 2.0);
        close(FIGURE.utilisation(1), 1.0);
    }

    #[test]
    fn two_threads_and_sixteen_locks_are_as_worked_out_by_hand() {
        // P_cs 1/2, P_ctn 1/16. On average 1/32 + (31/32 + 1) / 2 = 65/64; for the slowest 1/16 +
        // (15/16 + 1) / 4 = 35/64.
        close(FIGURE.time(2), 65.0 / 64.0);
        close(FIGURE.utilisation(2), 128.0 / 65.0);
    }

    #[test]
    fn no_number_of_threads_uses_more_cores_than_the_limit() {
        close(FIGURE.program.most_cores(), 32.0);
        let used: Vec<f64> = (1..4096)
            .map(|threads| FIGURE.utilisation(threads))
            .collect();
        assert!(used.is_sorted() && used.iter().all(|&cores| cores < 32.0));
        // The distance to the limit is (15/16 + 1) / (2 T), relative to the lock's 1/16.
        close(
            FIGURE.utilisation(4096),
            2.0 / (1.0 / 16.0 + 31.0 / 16.0 / 8192.0),
        );
    }
}
