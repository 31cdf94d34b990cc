//! Lines of a report: text is built as a string, so that it is printed whole or not at all.

/// Adds a line to a `String`, formatted as by `println!`; writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        use std::fmt::Write;
        writeln!($text, $($format)*).expect("writing to a string")
    }};
}

pub(crate) use line;
