//! The options that put a server under load, the same for each command that measures one.

use clap::Args;
use corehop_measure::server::{Ready, Sign, UnderLoad, expression};
use corehop_support::quantity::duration::seconds;
use regex::Regex;
use std::time::Duration;

/// The options of a load.
#[derive(Args)]
pub struct LoadOptions {
    /// Shell command that puts the server under load and then ends
    ///
    /// It runs several times. Without --throughput it must do the same work each time.
    #[arg(long, value_name = "COMMAND", help_heading = "Load")]
    pub load: Option<String>,
    /// Shell command that loads data into each started server and then ends
    ///
    /// It runs once per server, when the server is ready. Its time is not measured.
    #[arg(long, value_name = "COMMAND", requires = "load", help_heading = "Load")]
    prepare: Option<String>,
    #[command(flatten)]
    ready: ReadyOptions,
    /// Number of warm-up loads on each server before the measured load
    ///
    /// Without --load: the number of warm-up runs of each variant before the first round.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        help_heading = "Load",
        hide_short_help = true
    )]
    warm_up: u32,
    /// Regular expression that finds the throughput in the output of the load; higher is better
    ///
    /// It has one group, around the number, as in `([0-9.]+) requests per second`. The last match
    /// counts. Without it, `optimize` and `measure` compare the time of the load.
    #[arg(long, value_name = "REGEX", value_parser = expression, help_heading = "Load")]
    pub throughput: Option<Regex>,
    /// Regular expression that finds a latency, such as a percentile, in the output of the load
    ///
    /// It has one group, around the number. The last match counts; lower is better. Only `corehop
    /// measure` reports the latency, in the unit of the output. The verdict does not depend on it.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = expression,
        requires = "load",
        help_heading = "Load",
        hide_short_help = true
    )]
    pub latency: Option<Regex>,
}

/// When a server is ready. Without either sign, it is ready when it listens on a socket.
#[derive(Args)]
struct ReadyOptions {
    /// Shell command that succeeds when the server is ready
    ///
    /// Default: the server is ready when one of its processes listens on a socket.
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with = "ready_port",
        requires = "load",
        help_heading = "Load"
    )]
    ready: Option<String>,
    /// TCP port of this machine that accepts connections when the server is ready
    ///
    /// Default: the server is ready when one of its processes listens on a socket.
    #[arg(long, value_name = "PORT", requires = "load", help_heading = "Load",
          value_parser = clap::value_parser!(u16).range(1..))]
    ready_port: Option<u16>,
    /// Time within which a server must become ready, in seconds or with a unit, such as 500ms or 2m
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60",
        value_parser = seconds,
        help_heading = "Load",
        hide_short_help = true
    )]
    ready_within: Duration,
}

impl LoadOptions {
    /// Returns the load that the options define.
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
            within: self.ready_within,
        }
    }
}

/// The text is not a number of percent above zero.
#[derive(Debug, thiserror::Error)]
#[error("it must be a number of percent above 0, such as 2")]
pub struct NotPositive;

/// Reads a gain to look for or the width of an interval, in percent.
pub fn positive_percent(text: &str) -> Result<f64, NotPositive> {
    match text.parse() {
        Ok(percent) if f64::is_finite(percent) && percent > 0.0 => Ok(percent),
        _ => Err(NotPositive),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_percentage_is_above_0() {
        assert!(super::positive_percent("2.5").is_ok());
        assert!(super::positive_percent("0").is_err() && super::positive_percent("nan").is_err());
    }
}
