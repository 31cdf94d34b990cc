//! Formats numbers and names for people, the same in every table, report and message.
//!
//! ```
//! use corehop_support::format::number::{change_between, counted};
//!
//! assert_eq!(counted(12_345, "miss", "misses"), "12 345 misses");
//! assert_eq!(change_between(100, 97), "-3.0 %");
//! ```

#![forbid(unsafe_code)]

pub mod name;
pub mod number;
pub mod path;
pub mod system_call;
