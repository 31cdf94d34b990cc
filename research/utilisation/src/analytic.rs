//! The queueing network of threads that take locks, and approximations for fewer cores than
//! threads.
//!
//! If each thread has a separate core, locks are stations of one server and all other work is a
//! delay (Pan, Lindén and Jonsson, "Predicting the cost of lock contention in parallel applications
//! on multicores using analytic modeling", 2012, as cited in section 6.2 of Barghi's thesis). Mean
//! value analysis is then exact. Whether a waiting thread spins or sleeps makes no difference,
//! because no other thread needs its core.
//!
//! With fewer cores than threads it does. A thread in a critical section holds two resources at
//! once, the lock and a core, which no exact analysis of this kind allows. Two approximations:
//!
//! - Blocking: a waiting thread leaves its core. Surrogate delays (Jacobson and Lazowska,
//!   "Analyzing queueing networks with simultaneous resource possession", Communications of the ACM
//!   25, 1982) use two networks. One has the cores as a station of several servers, and the wait
//!   for locks as a delay. The other has the locks as stations, with all work lengthened by the
//!   wait for cores. Each provides the input of the other; they agree at one point.
//! - Spinning: a waiting thread keeps its core. As many threads compete for locks as there are
//!   cores, and the others wait for a core (an admission limit, solved by the throughput of those
//!   admitted: Chandy, Herzog and Woo, "Parametric analysis of queuing networks", IBM Journal of
//!   Research and Development 19, 1975). A thread is assumed to give up its core only between
//!   iterations. If it lost the core while it holds a lock, spinning would be worse than this.

use crate::locked_program::LockedProgram;
use corehop_simulator::queueing::{Network, Station, solve};

/// What a thread does with its core while it waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It keeps the core.
    Spinning,
    /// It leaves the core to others.
    Blocking,
}

/// The model of one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analytic {
    /// The parameters of the program.
    pub program: LockedProgram,
}

/// Number of bisections of the range of surrogate delays: enough for all digits.
const HALVINGS: u32 = 60;

impl Analytic {
    /// Returns iterations of all threads per unit of time, each thread on a separate core.
    pub fn throughput(&self, threads: u32) -> f64 {
        self.slowed_down(1.0, threads).0
    }

    /// Returns the number of cores that threads use, with as many cores as threads; a spinning
    /// thread counts as using none.
    pub fn utilisation(&self, threads: u32) -> f64 {
        self.throughput(threads) * self.program.iteration()
    }

    /// Returns iterations of all threads per unit of time on `cores` cores.
    pub fn throughput_on(&self, cores: u32, threads: u32, waiting: Waiting) -> f64 {
        match waiting {
            _ if threads <= cores => self.throughput(threads),
            Waiting::Spinning => self.throughput(cores),
            Waiting::Blocking => self.blocking(cores, threads),
        }
    }

    /// Returns the number of cores out of `cores` that threads use for their work.
    pub fn utilisation_on(&self, cores: u32, threads: u32, waiting: Waiting) -> f64 {
        self.throughput_on(cores, threads, waiting) * self.program.iteration()
    }

    /// Returns the throughput if all work takes `times` as long, and the time for which an
    /// iteration waits for its lock.
    fn slowed_down(&self, times: f64, threads: u32) -> (f64, f64) {
        let LockedProgram { locks, t_cs, t_ncs } = self.program;
        let holding = t_cs * times;
        let lock = Station::new(holding / f64::from(locks), 1);
        let network = Network {
            stations: vec![lock; locks as usize],
            think_time: t_ncs * times,
        };
        let solved = solve(&network, threads).pop();
        solved.map_or((0.0, 0.0), |with_all| {
            (with_all.throughput, with_all.response - holding)
        })
    }

    /// Computes throughput with surrogate delays. The longer work takes, the longer the wait for
    /// locks. The longer that wait, the fewer threads need a core and the less time work takes.
    /// Both networks therefore agree at exactly one point, which bisection finds.
    fn blocking(&self, cores: u32, threads: u32) -> f64 {
        let work = self.program.iteration();
        let on_cores = |waiting: f64| {
            let network = Network::of_equal_cores(work, cores, waiting);
            let solved = solve(&network, threads).pop();
            solved.map_or(1.0, |with_all| with_all.response / work)
        };
        let (mut least, mut most) = (1.0, f64::from(threads));
        for _ in 0..HALVINGS {
            let times = (least + most) / 2.0;
            let (_, waiting) = self.slowed_down(times, threads);
            match on_cores(waiting) > times {
                true => least = times,
                false => most = times,
            }
        }
        self.slowed_down(least, threads).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    fn model(locks: u32, t_cs: f64, t_ncs: f64) -> Analytic {
        let program = LockedProgram { locks, t_cs, t_ncs };
        Analytic { program }
    }

    #[test]
    fn sixteen_locks_let_threads_use_thirty_two_cores_and_no_more() {
        let figure = model(16, 1.0, 1.0);
        close(figure.program.most_cores(), 32.0);
        close(figure.utilisation(1), 1.0);
        let used: Vec<f64> = (1..=512)
            .map(|threads| figure.utilisation(threads))
            .collect();
        assert!(used.is_sorted() && used.iter().all(|&cores| cores < 32.0));
        assert!(used[511] > 31.0, "{}", used[511]);
    }

    #[test]
    fn one_lock_without_other_work_serves_one_thread_at_a_time() {
        for threads in 1..9 {
            close(model(1, 3.0, 0.0).throughput(threads), 1.0 / 3.0);
            let on = |waiting| model(1, 3.0, 0.0).throughput_on(2, threads, waiting);
            close(on(Waiting::Spinning), 1.0 / 3.0);
            // The network of the cores does not model that only one thread at a time needs one.
            // With many threads, work takes t times as long, t = 1 / (1 - 1 / (2 t)^2) by Erlang's
            // formula for two servers with utilisation 1 / (2 t), so t = (1 + sqrt(2)) / 2.
            let blocking = on(Waiting::Blocking) * 3.0;
            let with_many = 2.0 / (1.0 + 2.0_f64.sqrt());
            assert!(blocking > with_many && blocking < 1.0 + 1e-9, "{blocking}");
        }
    }

    #[test]
    fn without_critical_sections_all_cores_are_busy() {
        for waiting in [Waiting::Spinning, Waiting::Blocking] {
            close(model(4, 0.0, 5.0).utilisation_on(3, 8, waiting), 3.0);
        }
    }

    #[test]
    fn no_more_cores_are_used_than_there_are_and_no_fewer_by_leaving_them() {
        for (locks, threads) in [(1, 5), (2, 12), (16, 40)] {
            let model = model(locks, 1.0, 2.0);
            let [spinning, blocking] = [Waiting::Spinning, Waiting::Blocking]
                .map(|waiting| model.utilisation_on(4, threads, waiting));
            assert!(
                blocking < 4.0 && spinning < blocking,
                "{spinning} {blocking}"
            );
            assert!(blocking < model.utilisation(threads));
        }
    }

    #[test]
    fn with_a_core_for_each_thread_waiting_in_either_way_is_the_same() {
        let model = model(2, 1.0, 1.0);
        let of = |waiting| model.throughput_on(4, 4, waiting);
        close(of(Waiting::Spinning), model.throughput(4));
        close(of(Waiting::Blocking), model.throughput(4));
    }
}
