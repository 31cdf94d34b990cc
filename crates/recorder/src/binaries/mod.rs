//! The files of a server: its program, the libraries it is loaded with, and where requests begin.

pub mod binary;
pub mod linked;
pub mod marker;
pub mod program;
