//! The numbers of a trace's threads, requests and functions: a type for each, so that none is taken
//! for another.
//!
//! Each is an index into what [`Trace`](crate::Trace) lists and costs what a `u32` does. None has
//! any arithmetic, since a thread plus one is no thread.

use std::fmt::{Display, Formatter};

macro_rules! index_into_a_trace {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The one at this place in the trace's list. A trace has fewer than 2^32 of them.
            #[inline(always)]
            pub fn from_index(index: usize) -> $name {
                $name(index as u32)
            }

            /// Its place in the trace's list.
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
    /// Index into the trace's threads, which are numbered in the order in which they first did
    /// something.
    ThreadId
}

index_into_a_trace! {
    /// Index into the trace's requests, which is not the number that the server gave one.
    RequestId
}

index_into_a_trace! {
    /// Index into the trace's functions.
    FunctionId
}
