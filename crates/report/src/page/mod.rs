//! The page, and its data as JSON for programs.

mod encode;
pub mod html;
pub mod json;
mod reproduction;
mod verdict;
