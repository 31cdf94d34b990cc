//! Address elision: omits accesses whose addresses follow from others of their code block.
//!
//! A function that saves six registers stores to six addresses, and one of them implies the others.
//! The fields of an object are at fixed distances given by the instructions. Recording an access
//! costs a server several times as much as making it. When QEMU translates a code block,
//! [`BlockAccesses::of`] therefore finds the accesses whose addresses follow from an earlier access
//! of the same execution, or from the address of the code. [`complete`] restores them from what was
//! recorded. DynamoRIO's drmemtrace does the same and calls it address elision.
//!
//! The same analysis of registers finds the loads that an address comes from ([`dependences`]), and
//! register values from the addresses of accesses ([`pointers`]).
//!
//! ```
//! use corehop_wire::elision::{AccessForm, Address, BlockAccesses, complete};
//!
//! // push rbx; mov rax, [rdi]; add [rdi+8], rax; pop rbx
//! let code: [&[u8]; 4] = [&[0x53], &[0x48, 0x8b, 7], &[0x48, 1, 0x47, 8], &[0x5b]];
//! let accesses = BlockAccesses::of(0x1000, code.into_iter(), false);
//! let is_recorded = |access: &&_| !corehop_wire::elision::PlainAccess::is_elided(access);
//! assert_eq!(accesses.all.iter().filter(is_recorded).count(), 2);
//!
//! // The push begins the execution's words, so of the other accesses one is recorded.
//! let load = AccessForm { instruction: 1, size_shift: 3, store: false };
//! let parts = complete(0x1000, &accesses.all, true, &[load]);
//! let found: Vec<_> = parts.iter().map(|part| (part.word, part.distance)).collect();
//! assert_eq!(found, [(Some(0), 0), (Some(1), 0), (Some(1), 8), (Some(1), 8), (Some(0), 0)]);
//! ```

#![forbid(unsafe_code)]

mod access;
mod block;
mod complete;
mod dependence;
mod plain;
mod pointers;
mod registers;

pub use access::{AccessForm, Address, PlainAccess};
pub use block::BlockAccesses;
pub use complete::{CompletedAccess, complete};
pub use dependence::{Dependence, Dependent, Source, dependences};
pub use pointers::{Pointer, pointers};
