//! Checks the processor and what the kernel lets programs use of it: requirements of hops and host
//! replays.

use super::finding::{Check, Finding};
use corehop_measure::machine::cpus::{has_fsgsbase, has_shadow_stack};
use corehop_measure::machine::neighbors::{Neighbors, widths};
use corehop_simulator::{Error, Level, host};
use corehop_support::topology::{Topology, allowed};
use std::time::{Duration, Instant};

/// How long the cores are watched for neighbors.
const WATCHED: Duration = Duration::from_secs(1);
/// Neighbors come and go in tenths of a second.
const BETWEEN_READINGS: Duration = Duration::from_millis(10);

/// All checks.
pub fn look() -> Vec<Finding> {
    let (topology, allowed) = (Topology::here(), allowed());
    let mut findings = cores(&topology, &allowed);
    findings.push(neighbors(&allowed));
    findings.push(caches(host::read(&topology, &allowed)));
    findings.extend([fsgsbase(), restartable_sequences(), shadow_stack()]);
    findings
}

/// Counts the CPUs to hop between, checks what they share, and which hops would gain nothing.
fn cores(topology: &Topology, allowed: &[usize]) -> Vec<Finding> {
    let check = |name| Check {
        name,
        serves: "hops",
    };
    let threads = allowed.len();
    let physical = topology.cores(allowed.iter().copied());
    let outer = topology.l3s(allowed.iter().copied());
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
            "the default uses one of each core; so should COREHOP_CPUS",
        ),
    };
    let l3 = match outer {
        0 => check("l3").ok("none is described"),
        1 => check("l3").ok("all allowed CPUs share one"),
        _ => check("l3").warn(
            format!("{outer} separate ones: hops between them move the request's data too"),
            "keep COREHOP_CPUS below one L3; the default does where one has enough cores",
        ),
    };
    vec![cpus, smt, l3]
}

/// Reads the cores for a second: whether something else uses them.
fn neighbors(allowed: &[usize]) -> Finding {
    let check = Check {
        name: "neighbors",
        serves: "hops, measure",
    };
    let until = Instant::now() + WATCHED;
    let mut readings = Vec::new();
    while Instant::now() < until {
        readings.extend(widths(allowed));
        std::thread::sleep(BETWEEN_READINGS);
    }
    match Neighbors::of(&readings) {
        None => check.ok("none were seen in a second"),
        Some(seen) => check.warn(
            seen.to_string(),
            "measure on a machine that has its cores to itself: times vary here, and an L2 holds \
             less",
        ),
    }
}

/// Reports the caches of `--machine host`, and the assumptions about them.
fn caches(host: Result<host::Host, Error>) -> Finding {
    let check = Check {
        name: "caches",
        serves: "--machine host",
    };
    let host = match host {
        Ok(host) => host,
        Err(error) => {
            let remedy = "name a machine file that describes this one";
            return check.warn(error.to_string(), remedy);
        }
    };
    let kib = |level: Level| level.size_bytes >> 10;
    let l2 = kib(host.machine.l2);
    let l3 = host.machine.l3.map_or_else(
        || ", no L3".to_owned(),
        |l3| format!(", L3 {} KiB", kib(l3)),
    );
    let found = format!("L2 {l2} KiB{l3}");
    match host.assumed.is_empty() {
        true => check.ok(found),
        false => check.warn(
            format!("{found}; {}", host.assumed.join("; ")),
            "where this is wrong, name a machine file that describes this one",
        ),
    }
}

fn carrier(name: &'static str) -> Check {
    Check {
        name,
        serves: "carrier",
    }
}

const AFFINITY_INSTEAD: &str = "hops then use sched_setaffinity, 10 to 40 us each";

fn fsgsbase() -> Finding {
    match has_fsgsbase() {
        true => carrier("fsgsbase").ok("programs may change the FS base"),
        false => carrier("fsgsbase").warn(
            format!("this processor or kernel has none: {AFFINITY_INSTEAD}"),
            "use Linux 5.9 or later on a processor of 2012 or later, without `nofsgsbase`",
        ),
    }
}

/// Checks what libc registered for this process.
fn restartable_sequences() -> Finding {
    // SAFETY: the name is a C string. The symbol, if libc has it, is a constant 32-bit word.
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
            format!("programs run with a shadow stack: {AFFINITY_INSTEAD}"),
            "start the server with GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK",
        ),
        false => carrier("shadow stack").ok("none"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    /// Returns two sockets of two cores with two hardware threads each.
    fn machine() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for cpu in 0..8 {
            let write = |file: &str, text: String| {
                let path = folder.path().join(format!("cpu{cpu}/{file}"));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            };
            let (core, socket) = (cpu % 4, cpu % 4 / 2 * 2);
            let threads = format!("{core},{}\n", core + 4);
            write("topology/thread_siblings_list", threads.clone());
            let shared = format!("{socket}-{},{}-{}\n", socket + 1, socket + 4, socket + 5);
            let caches = [
                (1, "32K", &threads),
                (2, "1024K", &threads),
                (3, "8192K", &shared),
            ];
            for (level, size, shared) in caches {
                let folder = format!("cache/index{level}");
                write(&format!("{folder}/level"), level.to_string());
                write(&format!("{folder}/type"), "Unified".into());
                write(&format!("{folder}/size"), size.into());
                write(&format!("{folder}/ways_of_associativity"), "8".into());
                write(&format!("{folder}/coherency_line_size"), "64".into());
                write(&format!("{folder}/shared_cpu_list"), shared.clone());
            }
        }
        folder
    }

    #[test]
    fn cores_hardware_threads_and_caches_are_counted_among_the_allowed_cpus() {
        let machine = machine();
        let topology = Topology::read(machine.path());
        let states = |allowed: &[usize]| -> Vec<State> {
            cores(&topology, allowed)
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
        let all = cores(&topology, &(0..8).collect::<Vec<_>>());
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
        let topology = Topology::read(folder.path());
        let found = cores(&topology, &[0, 1, 2]);
        assert_eq!(found[0].found, "3 physical cores on 3 allowed CPUs");
        assert_eq!(found[2].found, "none is described");
        assert_eq!(found[2].state, State::Ok);
        let found = caches(host::read(&topology, &[0, 1, 2]));
        assert_eq!(found.state, State::Warn);
        assert!(
            found.found.contains("no CPU is described here"),
            "{}",
            found.found
        );
    }

    #[test]
    fn caches_are_told_with_what_is_assumed_of_them() {
        let machine = machine();
        let file = |name: &str| machine.path().join("cpu5/cache").join(name);
        let of = |cpu| caches(host::read(&Topology::read(machine.path()), &[cpu]));
        assert_eq!(of(5).found, "L2 1024 KiB, L3 8192 KiB");
        assert_eq!(of(5).state, State::Ok);
        std::fs::remove_dir_all(file("index3")).unwrap();
        assert_eq!(of(5).found, "L2 1024 KiB, no L3");
        std::fs::write(file("index2/size"), "2048").unwrap();
        let found = of(5);
        assert!(
            found.found.starts_with("L2 2048 KiB, no L3; /"),
            "{}",
            found.found
        );
        assert_eq!((found.state, found.remedy.is_some()), (State::Warn, true));
        assert_eq!(of(1).state, State::Ok);
    }
}
