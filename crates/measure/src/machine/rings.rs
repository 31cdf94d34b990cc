//! Whether programs may open an io_uring here that the runtime can use.

/// `struct io_uring_params` in 32-bit words, with the indexes of results, flags and features.
const WORDS: usize = 30;
const RESULTS: usize = 1;
const FLAGS: usize = 2;
const FEATURES: usize = 5;

/// The same size as the runtime's ring, with IORING_SETUP_CQSIZE and IORING_SETUP_CLAMP.
const REQUESTS: u32 = 256;
const MOST_RESULTS: u32 = 4096;
const SIZED: u32 = 1 << 3 | 1 << 4;

/// Features that the runtime needs (runtime/run_queues/ring_memory.c): one mapping, no lost
/// results, submissions that stay, fast polls, and kernel threads for any file.
const NEEDED: u32 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7;

/// Returns why system calls cannot be batched here; `None` if they can.
pub fn why_no_rings() -> Option<&'static str> {
    let mut order = [0u32; WORDS];
    order[RESULTS] = MOST_RESULTS;
    order[FLAGS] = SIZED;
    let call = (libc::SYS_io_uring_setup, REQUESTS);
    // SAFETY: the kernel reads and writes one such structure, and returns a new descriptor or -1.
    let file = unsafe { libc::syscall(call.0, call.1, order.as_mut_ptr()) };
    if file < 0 {
        let error = std::io::Error::last_os_error();
        return Some(match error.raw_os_error() {
            Some(libc::EPERM) => {
                "programs may not use io_uring here (kernel.io_uring_disabled, or a seccomp filter)"
            }
            Some(libc::ENOMEM | libc::EAGAIN) => {
                "there is no memory for an io_uring (all of a user's count against its limit on \
                 locked memory)"
            }
            _ => "this kernel opens no io_uring",
        });
    }
    // SAFETY: the descriptor was opened above, and no other code knows it.
    unsafe { libc::close(file as i32) };
    let is_new = order[FEATURES] & NEEDED == NEEDED;
    (!is_new).then_some("this kernel's io_uring is too old (Linux 5.11 is needed)")
}
