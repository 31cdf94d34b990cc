//! The processor and how the kernel lets programs use it: what hops and host replays need.

use super::finding::{Check, Finding};
use corehop_measure::machine::cpus::{
    SYSFS, allowed, cores_of, has_fsgsbase, has_shadow_stack, l3s_of,
};
use corehop_simulator::Machine;
use std::path::Path;

/// All checks.
pub fn look() -> Vec<Finding> {
    let allowed = allowed();
    let mut findings = cores(Path::new(SYSFS), &allowed);
    findings.push(caches());
    findings.extend([fsgsbase(), restartable_sequences(), shadow_stack()]);
    findings
}

/// How many CPUs there are to hop between, what they share, and which hop would gain nothing.
fn cores(sysfs: &Path, allowed: &[usize]) -> Vec<Finding> {
    let check = |name| Check {
        name,
        serves: "hops",
    };
    let threads = allowed.len();
    let physical = cores_of(sysfs, allowed);
    let outer = l3s_of(sysfs, allowed);
    let counted = format!("{physical} physical cores on {threads} allowed CPUs");
    let cpus = match physical {
        0 | 1 => check("cpus").warn(
            format!("{counted}: patched servers run without hops"),
            "widen the mask (taskset, the container's CPUs), or use a machine with more cores",
        ),
        _ => check("cpus").ok(counted),
    };
    let smt = match threads == physical {
        true => check("smt").ok("no allowed CPUs share a core"),
        false => check("smt").warn(
            format!("{threads} hardware threads on {physical} cores: two of a core share its L2"),
            "the default takes one of each core; so should COREHOP_CPUS",
        ),
    };
    let l3 = match outer {
        0 | 1 => check("l3").ok("all allowed CPUs share one"),
        _ => check("l3").warn(
            format!("{outer} separate ones: hops between them move the request's data too"),
            "keep COREHOP_CPUS below one L3; the default does where one has enough cores",
        ),
    };
    vec![cpus, smt, l3]
}

fn caches() -> Finding {
    let check = Check {
        name: "caches",
        serves: "--machine host",
    };
    match Machine::named_or_path("host") {
        Ok(machine) => {
            let kib = |size_bytes: u64| size_bytes >> 10;
            let l3 = machine
                .l3
                .map(|l3| format!(", L3 {} KiB", kib(l3.size_bytes)));
            check.ok(format!(
                "L2 {} KiB{}",
                kib(machine.l2.size_bytes),
                l3.unwrap_or_default()
            ))
        }
        Err(error) => check.warn(
            error.to_string(),
            "name a machine file that describes this one",
        ),
    }
}

fn carrier(name: &'static str) -> Check {
    Check {
        name,
        serves: "carrier",
    }
}

const AFFINITY_INSTEAD: &str = "hops then go by sched_setaffinity, 10 to 40 us each";

fn fsgsbase() -> Finding {
    match has_fsgsbase() {
        true => carrier("fsgsbase").ok("programs may change the FS base"),
        false => carrier("fsgsbase").warn(
            format!("this processor or kernel has none: {AFFINITY_INSTEAD}"),
            "use Linux 5.9 or later on a processor of 2012 or later, without `nofsgsbase`",
        ),
    }
}

/// Looks at what libc registered for this very process.
fn restartable_sequences() -> Finding {
    // SAFETY: the name is a C string, and the symbol, where libc has it, is a constant 32-bit word.
    let size = unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
        symbol.cast::<u32>().as_ref().copied().unwrap_or(0)
    };
    match size {
        0 => carrier("rseq").ok("libc registers no restartable sequences"),
        _ => carrier("rseq").warn(
            format!("libc registers restartable sequences: {AFFINITY_INSTEAD}"),
            "start the server with GLIBC_TUNABLES=glibc.pthread.rseq=0",
        ),
    }
}

fn shadow_stack() -> Finding {
    match has_shadow_stack() {
        true => carrier("shadow stack").warn(
            format!("programs run with one: {AFFINITY_INSTEAD}"),
            "start the server with GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK",
        ),
        false => carrier("shadow stack").ok("none"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    /// Two sockets of two cores with two hardware threads each.
    fn machine() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for cpu in 0..8 {
            let write = |file: &str, text: String| {
                let path = folder.path().join(format!("cpu{cpu}/{file}"));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            };
            let (core, socket) = (cpu % 4, cpu % 4 / 2 * 2);
            write(
                "topology/thread_siblings_list",
                format!("{core},{}\n", core + 4),
            );
            let shared = format!("{socket}-{},{}-{}\n", socket + 1, socket + 4, socket + 5);
            write("cache/index3/shared_cpu_list", shared);
        }
        folder
    }

    #[test]
    fn cores_hardware_threads_and_caches_are_counted_among_the_allowed_cpus() {
        let machine = machine();
        let states = |allowed: &[usize]| -> Vec<State> {
            cores(machine.path(), allowed)
                .iter()
                .map(|finding| finding.state)
                .collect()
        };
        use State::{Ok, Warn};
        assert_eq!(states(&[0, 1]), [Ok, Ok, Ok]);
        assert_eq!(states(&[0, 2]), [Ok, Ok, Warn], "two sockets");
        assert_eq!(states(&[0, 4]), [Warn, Warn, Ok], "one core");
        assert_eq!(states(&[0, 1, 5]), [Ok, Warn, Ok]);
        assert_eq!(states(&[3]), [Warn, Ok, Ok]);
        let all = cores(machine.path(), &(0..8).collect::<Vec<_>>());
        assert_eq!(all[0].found, "4 physical cores on 8 allowed CPUs");
        assert!(
            all[2].found.starts_with("2 separate ones"),
            "{}",
            all[2].found
        );
    }

    #[test]
    fn cpus_of_which_nothing_is_told_share_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let found = cores(folder.path(), &[0, 1, 2]);
        assert_eq!(found[0].found, "3 physical cores on 3 allowed CPUs");
    }
}
