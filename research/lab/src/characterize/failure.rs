//! Exit codes and remedies of the errors of this module.

use super::{Error, perf_script};
use corehop::failure::{Exit, Failure};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Trace(error) => error.into(),
            Error::Replay(error) => error.into(),
            Error::Requests(error) => error.into(),
            Error::NoSuchFunction { .. } => Failure::new(Exit::Usage, error)
                .remedy("`corehop replay --detail --top 10000 TRACE` lists those that were"),
        }
    }
}

impl From<perf_script::Error> for Failure {
    fn from(error: perf_script::Error) -> Self {
        let remedy = match error {
            perf_script::Error::Read { .. } => "name a file that can be read",
            perf_script::Error::Broken { .. } => {
                "print it with `perf script -F tid,event,addr,ip,sym`, and with `data_src` besides \
                 where one event is of loads and stores"
            }
            perf_script::Error::Nothing { .. } => "record with `perf mem record --call-graph fp`",
        };
        Failure::new(Exit::Input, error).remedy(remedy)
    }
}
