//! Which calls of libc the library can post, from the table with which it is compiled.

/// The table that `posted/post.c` reads too.
const TABLE: &str = include_str!("../posted/table.h");

/// A call that can be posted, under its name in `COREHOP_SYSCALLS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name.
    pub name: &'static str,
    /// Whether rings can make it, many at a time.
    pub in_batches: bool,
    /// Whether a thread can make it on another core, or after other threads ran first.
    pub elsewhere: bool,
}

/// All of them, each once, in the order of the table.
#[must_use]
pub fn postable() -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for call in TABLE.lines().filter_map(call) {
        if calls.iter().all(|known| known.name != call.name) {
            calls.push(call);
        }
    }
    calls
}

/// The call of a line such as `POSTED(recv, recv, RECEIVES)`.
fn call(line: &'static str) -> Option<Call> {
    let row = line.strip_prefix("POSTED(")?.strip_suffix(')')?;
    let mut fields = row.split(", ");
    let (name, shape) = (fields.next()?, fields.nth(1)?);
    Some(Call {
        name,
        in_batches: shape != "MADE_ALONE",
        elsewhere: !["POLLS", "WAITS_FOR_EVENTS"].contains(&shape),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(are: impl Fn(&Call) -> bool) -> Vec<&'static str> {
        let calls = postable();
        calls
            .iter()
            .filter(|call| are(call))
            .map(|c| c.name)
            .collect()
    }

    #[test]
    fn every_row_of_the_table_is_one_and_sockets_calls_and_waits_go_in_batches() {
        let rows = TABLE.lines().filter(|line| line.starts_with("POSTED("));
        assert_eq!(rows.clone().count(), rows.filter_map(call).count());
        let expected = [
            "read",
            "write",
            "readv",
            "writev",
            "recv",
            "recvfrom",
            "recvmsg",
            "send",
            "sendto",
            "sendmsg",
            "poll",
            "epoll_wait",
        ];
        assert_eq!(names(|call| call.in_batches), expected);
        assert_eq!(names(|call| !call.elsewhere), ["poll", "epoll_wait"]);
        assert!(names(|call| call.elsewhere && !call.in_batches).contains(&"accept4"));
    }
}
