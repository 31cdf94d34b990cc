//! How a server is put under load: the same options wherever one is measured.

use clap::Args;
use corehop_measure::server::{Ready, Sign, UnderLoad, expression};
use regex::Regex;

/// The options that say so.
#[derive(Args)]
pub struct LoadOptions {
    /// What puts the server under load, as a shell command that ends, after the same work each time
    #[arg(long, value_name = "COMMAND")]
    pub load: Option<String>,
    /// What fills each server that was started with data, as a shell command that ends: run once,
    /// when the server is ready, and not measured
    #[arg(long, value_name = "COMMAND", requires = "load")]
    prepare: Option<String>,
    #[command(flatten)]
    ready: ReadyOptions,
    /// Loads on each server before the one that counts; without --load, runs of each side before
    /// the rounds
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    warm_up: u32,
    /// What finds throughput in the output: a regular expression with one group, whose last match
    /// counts; more is better
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub throughput: Option<Regex>,
    /// What finds latency in the output, such as a percentile: told beside throughput, in its own
    /// unit; less is better
    #[arg(long, value_name = "REGEX", value_parser = expression, requires = "load")]
    pub latency: Option<Regex>,
}

/// How to tell that a server is ready. Without either, it is when it listens on a socket.
#[derive(Args)]
struct ReadyOptions {
    /// The server is ready when this shell command succeeds
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with = "ready_port",
        requires = "load"
    )]
    ready: Option<String>,
    /// The server is ready when this TCP port of the machine itself takes a connection
    #[arg(long, value_name = "PORT", requires = "load")]
    ready_port: Option<u16>,
    /// How long a server may take to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    ready_within: u64,
}

impl LoadOptions {
    /// What they say.
    pub fn under_load(&self) -> UnderLoad {
        UnderLoad {
            load: self.load.clone(),
            prepare: self.prepare.clone(),
            ready: self.ready.ready(),
            warm_up: self.warm_up,
            throughput: self.throughput.clone(),
            latency: self.latency.clone(),
        }
    }
}

impl ReadyOptions {
    fn ready(&self) -> Ready {
        let sign = match (&self.ready, self.ready_port) {
            (Some(command), _) => Sign::Command(command.clone()),
            (None, Some(port)) => Sign::Port(port),
            (None, None) => Sign::Listens,
        };
        Ready {
            sign,
            within_seconds: self.ready_within,
        }
    }
}

/// A text is no width of an interval.
#[derive(Debug, thiserror::Error)]
#[error("a width is a number of percent above 0, such as 2")]
pub struct NoWidth;

/// Reads the width of an interval.
pub fn width(text: &str) -> Result<f64, NoWidth> {
    match text.parse() {
        Ok(percent) if f64::is_finite(percent) && percent > 0.0 => Ok(percent),
        _ => Err(NoWidth),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_width_is_above_0() {
        assert!(super::width("2.5").is_ok());
        assert!(super::width("0").is_err() && super::width("nan").is_err());
    }
}
