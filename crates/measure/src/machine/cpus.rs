//! Whether the carrier backend can move a server's threads between this machine's CPUs.

/// AT_HWCAP2 bit: programs may change the FS base (arch/x86/include/uapi/asm/hwcap2.h).
const HAS_FSGSBASE: u64 = 1 << 1;
/// ARCH_SHSTK_STATUS of arch_prctl(2), and its bit for enabled shadow stacks.
const SHADOW_STACK_STATUS: i32 = 0x5005;
const SHADOW_STACK_ON: u64 = 1;

/// Whether the carrier backend works here for a server without restartable sequences.
pub fn can_carry() -> bool {
    has_fsgsbase() && !has_shadow_stack()
}

/// Whether programs may change the FS base.
pub fn has_fsgsbase() -> bool {
    // SAFETY: it only looks up a number that the kernel passed to this process.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    capabilities & HAS_FSGSBASE != 0
}

/// Whether programs run with a shadow stack.
pub fn has_shadow_stack() -> bool {
    let mut status = 0u64;
    let request = (libc::SYS_arch_prctl, SHADOW_STACK_STATUS);
    // SAFETY: the kernel writes one 64-bit word, or fails if it does not know the request.
    let answer = unsafe { libc::syscall(request.0, request.1, &raw mut status) };
    answer == 0 && status & SHADOW_STACK_ON != 0
}
