//! Names of Linux's system calls, by number, as x86-64 has them.

use std::borrow::Cow;
use syscalls::Sysno;

/// The name of the system call of this number; `call 999` for one that Linux does not have.
pub fn name(number: i32) -> Cow<'static, str> {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(
        || Cow::Owned(format!("call {number}")),
        |known| Cow::Borrowed(known.name()),
    )
}

#[cfg(test)]
mod tests {
    use super::name;

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
