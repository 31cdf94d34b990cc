//! The CPUs that this process may use: its affinity mask, which `taskset` and containers restrict.

use super::notation;
use rustix::thread::{CpuSet, sched_getaffinity};

/// The kernel also writes the mask here.
const STATUS: &str = "/proc/self/status";

/// Returns the CPUs that this process and its children may use, in ascending order.
pub fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(own) => (0..CpuSet::MAX_CPU)
            .filter(|&cpu| own.is_set(cpu))
            .collect(),
        // The call fails if the kernel has more CPUs than the set has bits.
        Err(_) => of_status(&std::fs::read_to_string(STATUS).unwrap_or_default()),
    }
}

fn of_status(status: &str) -> Vec<usize> {
    let list = |line: &str| notation::list(line.strip_prefix("Cpus_allowed_list:")?);
    let cpus = status.lines().find_map(list).unwrap_or_default();
    cpus.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_process_has_its_mask() {
        let status = "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-1,2047\nSeccomp:\t0\n";
        assert_eq!(of_status(status), [0, 1, 2047]);
        assert_eq!(of_status(""), [0; 0]);
    }

    #[test]
    fn a_process_may_run_somewhere() {
        assert!(!allowed().is_empty());
    }
}
