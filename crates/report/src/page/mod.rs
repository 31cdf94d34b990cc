//! The page, and the same for programs as JSON.

mod encode;
pub mod html;
pub mod json;
mod reproduction;
mod verdict;
