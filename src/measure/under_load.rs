//! How a server is put under load: the same options wherever one is measured.
//!
//! The load is the user's own command, because nobody else knows what the server is for. What fills
//! it with data is another, which no figure is to show. Rejected: one command for both, whose time
//! would be mostly that of filling.

use super::load::expression;
use super::ready::Ready;
use clap::Args;
use regex::Regex;

/// The options that say so.
#[derive(Args)]
pub struct UnderLoad {
    /// What puts the server under load, as a shell command that ends, after the same work each time
    #[arg(long, value_name = "COMMAND")]
    pub load: Option<String>,
    /// What fills each server that was started with data, as a shell command that ends: run once,
    /// when the server is ready, and not measured
    #[arg(long, value_name = "COMMAND", requires = "load")]
    pub prepare: Option<String>,
    #[command(flatten)]
    pub ready: Ready,
    /// Loads on each server before the one that counts; without --load, runs of each side before
    /// the rounds
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub warm_up: u32,
    /// What finds throughput in the output: a regular expression with one group, whose last match
    /// counts; more is better
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub throughput: Option<Regex>,
}
