//! Names of Linux system calls on x86-64, by number, and the corresponding libc functions.

use std::borrow::Cow;
use syscalls::Sysno;

/// Returns the name of the system call with this number; `call 999` if Linux does not have it.
pub fn name(number: i32) -> Cow<'static, str> {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(
        || Cow::Owned(format!("call {number}")),
        |known| Cow::Borrowed(known.name()),
    )
}

/// Returns whether libc's function `libc` may make the system call `kernel`.
#[must_use]
pub fn is_made_by(kernel: &str, libc: &str) -> bool {
    libc == kernel || others_of(libc).contains(&kernel)
}

/// Returns further system calls that the libc function with this name may make.
fn others_of(libc: &str) -> &'static [&'static str] {
    match libc {
        "accept" => &["accept4"],
        "epoll_wait" => &["epoll_pwait"],
        "fstat" | "lstat" | "stat" | "fstatat" => &["newfstatat"],
        "open" => &["openat"],
        "poll" => &["ppoll"],
        "pread" => &["pread64"],
        "pwrite" => &["pwrite64"],
        "recv" => &["recvfrom"],
        "select" => &["pselect6"],
        "send" => &["sendto"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{is_made_by, name};

    #[test]
    fn libc_and_the_kernel_may_have_other_names_for_a_call() {
        assert!(is_made_by("recvfrom", "recv") && is_made_by("recvfrom", "recvfrom"));
        assert!(!is_made_by("recv", "recvfrom") && !is_made_by("read", "recv"));
        assert!(is_made_by("newfstatat", "stat") && is_made_by("accept", "accept"));
    }

    #[test]
    fn system_calls_have_their_names_of_x86_64() {
        let names = [0, 17, 202, 231, 334, 999, -1].map(name);
        let expected = [
            "read",
            "pread64",
            "futex",
            "exit_group",
            "rseq",
            "call 999",
            "call -1",
        ];
        assert_eq!(names, expected);
    }
}
