//! Actions of the fixture `uncarried.c`, by its argument, each with the reason why it is
//! unsupported.

/// The argument and the reason.
pub const THINGS: [(&str, &str); 9] = [
    ("prctl", "it installs a seccomp filter"),
    ("seccomp", "it installs a seccomp filter"),
    ("time stamps", "it forbids itself the time-stamp counter"),
    (
        "priority",
        "it has mutexes that change their owner's priority",
    ),
    ("traces", "it traces another program, or has itself traced"),
    (
        "user of files",
        "it changes the rights of single threads to files",
    ),
    (
        "group of files",
        "it changes the rights of single threads to files",
    ),
    ("places", "it places threads on CPUs itself"),
    ("ring", "it ties an io_uring to one thread"),
];
