//! What a person sees: lines of text, progress, and what Ctrl-C does.

pub mod console;
pub mod heartbeat;
pub mod interrupt;
pub mod line;
pub mod progress;
pub mod shell;
