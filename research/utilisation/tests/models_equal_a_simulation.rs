//! Compares both ways of waiting for a lock with a simulation of the same program.
//!
//! A simulation gives throughput with a standard error. An exact formula must be within four of
//! them: by chance one comparison in a thousand would not be (Student's distribution with 19
//! degrees of freedom), and the seed is fixed. For an approximation, the test states its error.

use crate::events::{Measured, equal};
use crate::locking::Locking;
use corehop_utilisation::{Analytic, LockedProgram, Waiting};

/// Programs of few and many locks, with as much time under them as outside, or a quarter of that.
const PROGRAMS: [LockedProgram; 3] = [
    LockedProgram {
        locks: 1,
        t_cs: 1.0,
        t_ncs: 4.0,
    },
    LockedProgram {
        locks: 4,
        t_cs: 1.0,
        t_ncs: 1.0,
    },
    LockedProgram {
        locks: 16,
        t_cs: 1.0,
        t_ncs: 1.0,
    },
];

fn simulated(program: LockedProgram, cores: u32, threads: u32) -> Measured {
    let LockedProgram { locks, t_cs, t_ncs } = program;
    let of = Locking {
        locks,
        t_cs,
        t_ncs,
        cores,
        threads,
    };
    of.iterations(4000.0)
}

#[test]
fn with_a_core_for_each_thread_the_network_of_locks_is_exact() {
    for program in PROGRAMS {
        for threads in [1, 2, 6, 20] {
            let found = Analytic { program }.throughput(threads);
            let of = format!("{program:?}, {threads}");
            equal(found, simulated(program, threads, threads), &of);
        }
    }
}

#[test]
fn with_fewer_cores_surrogate_delays_are_a_tenth_off_at_most() {
    for program in PROGRAMS {
        for (cores, threads) in [(2, 3), (2, 12), (4, 6), (4, 24), (8, 12)] {
            let found = Analytic { program }.throughput_on(cores, threads, Waiting::Blocking);
            let mean = simulated(program, cores, threads).mean;
            let off = (found / mean - 1.0).abs();
            assert!(
                off < 0.1,
                "{program:?} on {cores}, {threads}: {found} for {mean}"
            );
        }
    }
}
