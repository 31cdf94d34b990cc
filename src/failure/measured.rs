//! The messages and remedies of measurements that failed.

use super::{Exit, Failure};
use corehop_measure::server::Role;
use corehop_measure::{Error, NoNumber};

const ELSEWHERE: &str = "set TMPDIR to a folder that can be written to";

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let error = match error {
            Error::NotInPath(error) => return error.into(),
            Error::Hooks(error) => return error.into(),
            Error::Interrupted => return Failure::new(Exit::Interrupted, error).explained(),
            error => error,
        };
        let remedy = remedy(&error);
        let mut message = match error {
            Error::NeverCalled { .. } => format!("--count {error}"),
            _ => error.to_string(),
        };
        let below = error.said().to_vec();
        if !below.is_empty() {
            message.push(':');
        }
        let failure = Failure::new(exit(&error), message);
        failure.below(below).remedy(remedy)
    }
}

fn exit(error: &Error) -> Exit {
    match error {
        Error::NoFolder(_) | Error::Unwritable { .. } => Exit::Output,
        Error::PortTaken { .. }
        | Error::NoThroughput { .. }
        | Error::NeverCalled { .. }
        | Error::NoProcess { .. } => Exit::Input,
        Error::NoPages(_) => Exit::Missing,
        _ => Exit::Server,
    }
}

fn remedy(error: &Error) -> String {
    let fixed = match error {
        Error::NoShell { role, .. } => return format!("{} needs a shell", option(*role)),
        Error::LoadFailed { command, .. } => {
            return format!("start the server, and run by hand: {command}");
        }
        Error::NoFolder(_) | Error::Unwritable { .. } => ELSEWHERE,
        Error::NotStarted { .. } => "start it without corehop first",
        Error::PortTaken { .. } => "stop the process that listens there, or use another port",
        Error::NotReady { .. } => {
            "define readiness with --ready or --ready-port, or raise --ready-within"
        }
        Error::EndedUnready { .. } => {
            "start it by hand: it must keep running, in the foreground or in the background"
        }
        Error::Ended { .. } => "the server must run until corehop ends it",
        Error::ProgramFailed { .. } => "a server that does not exit needs a --load",
        Error::NoThroughput {
            option, problem, ..
        } => match &**problem {
            NoNumber::Ambiguous(_) => {
                "make the load print numbers with a decimal point and without thousands \
                 separators, as most programs do with LC_ALL=C"
            }
            NoNumber::Cut { .. } => {
                "make its group match the whole number, such as ([0-9.,]+), or extend the \
                 expression to the text around the number"
            }
            _ if *option == "--latency" => "make its group match the latency",
            _ => "make its group match the number of operations a second",
        },
        Error::NeverCalled { .. } => {
            "count a function that the load's requests enter, or use --throughput"
        }
        Error::NoPages(_) => "run corehop as the user of the server, or as root",
        Error::NoProcess { .. } => "`pidof SERVER` lists the running processes",
        Error::TooShort { .. } => "make the load take at least 2 s",
        Error::Interrupted | Error::NotInPath(_) | Error::Hooks(_) => "",
    };
    fixed.into()
}

fn option(role: Role) -> &'static str {
    match role {
        Role::Load => "--load",
        Role::Preparation => "--prepare",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_measure::server::expression;

    #[test]
    fn a_failure_names_the_option_and_shows_what_was_printed() {
        let error = corehop_measure::Error::NoThroughput {
            option: "--throughput",
            expression: expression("([0-9]+)").unwrap(),
            problem: Box::new(corehop_measure::NoNumber::NoMatch),
            said: vec!["one".into(), "two".into()],
        };
        let expected = "corehop: --throughput ([0-9]+): the output has no match:\n    one\n    \
                        two\n  remedy: make its group match the number of operations a second\n";
        assert_eq!(Failure::from(error).lines().as_str(), expected);
        let failure = Failure::from(Error::PortTaken { port: 7 });
        let expected = "corehop: port 7 is in use before the server is started\n  \
                        remedy: stop the process that listens there, or use another port\n";
        assert_eq!(failure.lines().as_str(), expected);
        let failure = Failure::from(Error::Interrupted);
        let expected = "corehop: interrupted; every server was ended\n";
        assert_eq!(failure.lines().as_str(), expected);
    }
}
