//! Checks a file before patching changes it: where its functions begin, what leads into them, which
//! instructions a jump displaces, and whether these may be moved.
//!
//! An [`Obstacle`] prevents a hook; a [`Refusal`] rules out the whole file.

mod analysis;
mod choosing;
mod displaced;
mod exits;
mod functions;
mod imported;
mod obstacle;
mod refusal;
mod sites;
mod targets;

pub use analysis::{Analysis, STUB_SUFFIX};
pub use choosing::implementations;
pub(crate) use displaced::{JUMP_SIZE, as_jump, encode, is_call, is_return, is_same};
pub use functions::Function;
pub(crate) use obstacle::Obstacle;
pub(crate) use refusal::DYNAMIC;
pub use refusal::Refusal;
pub(crate) use sites::{Site, sites};
