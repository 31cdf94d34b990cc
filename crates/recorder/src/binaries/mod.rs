//! The files of a server: its program, its libraries, and the place where requests begin.

pub mod binary;
pub mod linked;
pub mod marker;
pub mod program;
