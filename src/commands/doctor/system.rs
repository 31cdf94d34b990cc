//! Checks the kernel's settings and free resources: counters, huge pages, code in memory, io_uring,
//! memory, disk.

use super::finding::{Check, Finding};
use corehop_measure::machine::counters;
use corehop_measure::machine::rings::why_no_rings;
use procfs::{Current, Meminfo};
use rustix::fs::{MemfdFlags, memfd_create, statvfs};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::path::Path;

const GIB: u64 = 1 << 30;
/// The default memory limit of `corehop record`.
const MEMORY_WANTED_BYTES: u64 = 4 * GIB;
/// About a hundred recorded requests of a database; a compressed access takes at most half a byte.
const DISK_WANTED_BYTES: u64 = GIB;

/// All checks.
pub fn look() -> Vec<Finding> {
    vec![
        hardware_counters(),
        huge_pages(),
        code_in_memory(),
        batches(),
        memory(),
        disk(),
    ]
}

/// Returns the content of a kernel file.
fn told(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

fn hardware_counters() -> Finding {
    let check = Check {
        name: "counters",
        serves: "measure",
    };
    let paranoid = told("/proc/sys/kernel/perf_event_paranoid");
    let paranoid = paranoid.unwrap_or_else(|| "unknown".into());
    let reason = match counters::available() {
        Ok(kinds) => {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
            return check.ok(names.join(", "));
        }
        Err(reason) => reason,
    };
    let has_processor = ["cpu", "cpu_core"].iter().any(|name| {
        Path::new("/sys/bus/event_source/devices")
            .join(name)
            .exists()
    });
    let found = format!(
        "cannot be opened ({reason}; perf_event_paranoid {paranoid}): times without misses"
    );
    let remedy = match has_processor {
        true => {
            "as root: sysctl kernel.perf_event_paranoid=2, and allow perf_event_open where a \
                 container forbids it"
        }
        false => "the kernel shows no counters of the processor: let the virtual machine have them",
    };
    check.warn(found, remedy)
}

fn huge_pages() -> Finding {
    let check = Check {
        name: "huge pages",
        serves: "measure",
    };
    let setting = told("/sys/kernel/mm/transparent_hugepage/enabled");
    match setting.as_deref() {
        None => check.warn(
            "none: large working sets miss the TLB too, which no replay counts",
            "use a kernel with transparent huge pages",
        ),
        Some(setting) if setting.contains("[never]") => check.warn(
            "switched off: large working sets miss the TLB too, which no replay counts",
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(setting) => check.ok(setting),
    }
}

/// Tries what `corehop run` does, and what the recorder does with its plugin.
fn code_in_memory() -> Finding {
    let check = Check {
        name: "code in memory",
        serves: "run",
    };
    let tried = || -> rustix::io::Result<()> {
        let flags = MemfdFlags::CLOEXEC;
        let file = memfd_create("corehop", flags | MemfdFlags::EXEC)
            .or_else(|_| memfd_create("corehop", flags))?;
        let (size, rights) = (4096, ProtFlags::READ | ProtFlags::EXEC);
        let place = std::ptr::null_mut();
        // SAFETY: a new mapping without any references, unmapped at once.
        unsafe {
            let place = mmap(place, size, rights, MapFlags::PRIVATE, &file, 0)?;
            munmap(place, size)
        }
    };
    match tried() {
        Ok(()) => check.ok("allowed"),
        Err(error) => check.warn(
            format!("not allowed ({error}): `run` refuses"),
            "use `corehop patch`, or sysctl vm.memfd_noexec=0",
        ),
    }
}

/// Tries what a server does that batches its system calls.
fn batches() -> Finding {
    let check = Check {
        name: "io_uring",
        serves: "optimize, run --system-calls",
    };
    match why_no_rings() {
        None => check.ok("can be used"),
        Some(reason) => check.warn(
            format!("{reason}: system calls cannot be batched"),
            "use Linux 5.11 or newer with kernel.io_uring_disabled=0, allow io_uring_setup in \
             containers, and raise the limit of locked memory (ulimit -l)",
        ),
    }
}

fn memory() -> Finding {
    let check = Check {
        name: "memory",
        serves: "record",
    };
    let available = Meminfo::current()
        .ok()
        .and_then(|memory| memory.mem_available);
    let limits = ["memory.max", "memory/memory.limit_in_bytes"];
    let limits = limits.map(|file| told(&format!("/sys/fs/cgroup/{file}"))?.parse().ok());
    let free = limits
        .into_iter()
        .flatten()
        .chain(available)
        .min()
        .unwrap_or(0);
    enough(check, "memory", free, MEMORY_WANTED_BYTES)
}

fn disk() -> Finding {
    let check = Check {
        name: "disk",
        serves: "record",
    };
    let free = statvfs(".").map_or(0, |system| system.f_bavail * system.f_frsize);
    enough(check, "room in this folder", free, DISK_WANTED_BYTES)
}

fn enough(check: Check, what: &str, free: u64, wanted: u64) -> Finding {
    let found = format!("{:.1} GiB free", free as f64 / GIB as f64);
    match free >= wanted {
        true => check.ok(found),
        false => check.warn(
            format!("{found}: a recording may end early"),
            format!(
                "make {what}, at least {} GiB, or record fewer requests",
                wanted / GIB
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn too_little_is_said_with_what_would_be_enough() {
        let check = Check {
            name: "disk",
            serves: "record",
        };
        assert_eq!(enough(check, "room", 2 * GIB, GIB).state, State::Ok);
        let little = enough(check, "room", GIB / 2, GIB);
        assert_eq!(little.state, State::Warn);
        assert_eq!(little.found, "0.5 GiB free: a recording may end early");
        let remedy = little.remedy.as_deref();
        assert_eq!(
            remedy,
            Some("make room, at least 1 GiB, or record fewer requests")
        );
    }
}
