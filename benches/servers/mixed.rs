//! redis with a mixed load whose data fit an L2.
//!
//! It reads and writes strings, counters, a hash, a list and a set once each: a request is six
//! commands of a microsecond or two. Unlike deep pages, it has no phase that fills a cache, so hops
//! have nothing to gain.

use crate::Outcome;
use crate::pipeline::Pipeline;
use crate::redis::{encoded, launch};
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};
use std::io::{Read, Write};

/// Requests sent together.
const DEPTH: usize = 100;
const VALUE: &str = "a value of some length, as programs keep them";

/// redis with a few keys.
pub struct Mixed;

/// Returns the commands of a request; the last one's answer is always the same.
fn request() -> Vec<u8> {
    let commands: [&[&str]; 6] = [
        &["SET", "string", VALUE],
        &["HSET", "hash", "field", VALUE],
        &["LPUSH", "list", VALUE],
        &["RPOP", "list"],
        &["SADD", "set", VALUE],
        &["GET", "string"],
    ];
    commands.into_iter().flat_map(encoded).collect()
}

/// Whether both values have arrived, which ends the answers to a request.
fn is_last(answers: &[u8]) -> bool {
    let answers = String::from_utf8_lossy(answers);
    answers.matches(VALUE).count() == 2 && answers.ends_with("\r\n")
}

impl Server for Mixed {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn load_name(&self) -> &'static str {
        "mixed"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/bin/redis-server", "redis-server")]
    }

    fn request_at(&self) -> &'static str {
        "processCommand"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        Ok(launch(place))
    }

    /// Existing entries are not added again, so all later answers are the same.
    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut stream = running.dial()?;
        stream.write_all(&request())?;
        let (mut answer, mut part) = (Vec::new(), [0; 1024]);
        while !is_last(&answer) {
            match stream.read(&mut part)? {
                0 => return Err("redis ended the connection".into()),
                length => answer.extend(&part[..length]),
            }
        }
        Ok(())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let end = format!("{VALUE}\r\n:0\r\n${}\r\n{VALUE}\r\n", VALUE.len());
        let answer: (&[u8], &[u8]) = (b"+OK\r\n:0\r\n:1\r\n", end.as_bytes());
        Ok(Box::new(Pipeline::new(running, &request(), answer, DEPTH)?))
    }
}
