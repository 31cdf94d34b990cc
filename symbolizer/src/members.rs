//! The members of global variables: which member of a struct is at which byte.
//!
//! `debug_info` finds the type of each variable in DWARF, `split` the files with the rest of it,
//! `types` makes a tree of its members, and `layout` is that tree. All elements of an array are one
//! member, `slots[]`, so a tree is as large as its type. Members that overlap are one as well:
//! DWARF does not describe which one of a union is in use, and an access has bytes, not bits.

mod debug_info;
mod layout;
mod split;
mod types;
mod variables;

pub use layout::{Members, VariableType};
pub(crate) use variables::variables;

#[cfg(test)]
mod tests;
