//! Types for the numbers of a trace's threads, requests and functions, so that they cannot be mixed
//! up.
//!
//! Each is an index into a list of [`Trace`](crate::Trace) and is as cheap as a `u32`. None
//! supports arithmetic, because a thread plus one is meaningless.

use std::fmt::{Display, Formatter};

macro_rules! index_into_a_trace {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Creates the id for this index in the trace's list. A trace has fewer than 2^32
            /// entries.
            #[inline(always)]
            pub fn from_index(index: usize) -> $name {
                $name(index as u32)
            }

            /// Returns the index in the trace's list.
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Display for $name {
            fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

index_into_a_trace! {
    /// Index into the trace's threads, numbered in the order of their first recorded action.
    ThreadId
}

index_into_a_trace! {
    /// Index into the trace's requests; it differs from the number that the server gave the
    /// request.
    RequestId
}

index_into_a_trace! {
    /// Index into the trace's functions.
    FunctionId
}
