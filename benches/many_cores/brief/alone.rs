//! A process without privileges, in a network namespace that has only loopback.

use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts the program in new namespaces of users and networks. It is then nobody.
pub fn alone(command: &mut Command) {
    let leave = || {
        // SAFETY: the call changes only this process, which has one thread after the fork.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) } != 0 {
            return Err(Error::last_os_error());
        }
        enable_loopback()
    };
    // SAFETY: the closure makes system calls and allocates nothing.
    unsafe { command.pre_exec(leave) };
}

/// A new network's loopback is down at first.
fn enable_loopback() -> Result<()> {
    // SAFETY: a structure of integers may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the kernel reads the request, which lives until the calls return.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 || libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request) != 0 {
            return Err(Error::last_os_error());
        }
        libc::close(socket);
    }
    Ok(())
}
