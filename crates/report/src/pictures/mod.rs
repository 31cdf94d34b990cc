//! The pictures of a report, one for each question.

pub mod accesses;
pub mod delegated;
pub mod elsewhere;
pub mod misses;
pub mod modes;
pub mod picture;
pub mod space;
pub mod split;
pub mod sweep;
pub mod throughput;
