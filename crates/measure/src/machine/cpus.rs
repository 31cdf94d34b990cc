//! The CPUs that a server may hop between here, and whether carriers may move its threads.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::BTreeSet;
use std::path::Path;

/// Where the kernel tells of CPUs.
pub const SYSFS: &str = "/sys/devices/system/cpu";

/// Bit of AT_HWCAP2 that says programs may change the FS base (arch/x86/include/uapi/asm/hwcap2.h).
const HAS_FSGSBASE: u64 = 1 << 1;
/// ARCH_SHSTK_STATUS of arch_prctl(2), and the bit that says shadow stacks are on.
const SHADOW_STACK_STATUS: i32 = 0x5005;
const SHADOW_STACK_ON: u64 = 1;

/// The CPUs that this process and what it starts may use.
pub fn allowed() -> Vec<usize> {
    let own = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| own.is_set(cpu))
        .collect()
}

/// How many physical cores these CPUs belong to, by what `sysfs` tells of them.
pub fn cores_of(sysfs: &Path, cpus: &[usize]) -> usize {
    groups(sysfs, cpus, "topology/thread_siblings_list")
}

/// How many L3 caches these CPUs have, by what `sysfs` tells of them.
pub fn l3s_of(sysfs: &Path, cpus: &[usize]) -> usize {
    groups(sysfs, cpus, "cache/index3/shared_cpu_list")
}

/// How many groups the CPUs fall into, by what `file` says they share.
fn groups(sysfs: &Path, cpus: &[usize], file: &str) -> usize {
    let told = cpus.iter().map(|cpu| {
        let path = sysfs.join(format!("cpu{cpu}/{file}"));
        let text = std::fs::read_to_string(path);
        text.map_or_else(|_| cpu.to_string(), |text| text.trim().to_owned())
    });
    told.collect::<BTreeSet<String>>().len()
}

/// How many physical cores a server may hop between.
pub fn physical_cores() -> usize {
    cores_of(Path::new(SYSFS), &allowed())
}

/// Whether carriers can move threads here, of a server that has no restartable sequences.
pub fn can_carry() -> bool {
    has_fsgsbase() && !has_shadow_stack()
}

/// Whether programs may change the FS base.
pub fn has_fsgsbase() -> bool {
    // SAFETY: it only looks up a number in what the kernel gave this process.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    capabilities & HAS_FSGSBASE != 0
}

/// Whether programs run with a shadow stack.
pub fn has_shadow_stack() -> bool {
    let mut status = 0u64;
    let request = (libc::SYS_arch_prctl, SHADOW_STACK_STATUS);
    // SAFETY: the kernel writes one 64-bit word, or answers that it does not know the request.
    let answer = unsafe { libc::syscall(request.0, request.1, &raw mut status) };
    answer == 0 && status & SHADOW_STACK_ON != 0
}
