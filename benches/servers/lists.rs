//! redis with requests for the middle of two lists of documents: a request has two phases of known
//! size, also since Redis 8, which jumps to a page of a sorted set (redis.rs).
//!
//! A list has a node for each document, as these are large. LINDEX and LRANGE walk the nodes up to
//! the requested one. Other keys are written in between, so each phase is a chain of loads through
//! nodes that lie apart, and the number of documents determines its size relative to an L2. The
//! scripts are those of loads/deep-lists.

use crate::Outcome;
use crate::pipeline::Pipeline;
use crate::redis::{encoded, launch};
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};
use std::io::{BufRead, BufReader, Write};

const FILL: &str = include_str!("../../loads/deep-lists/fill.lua");
const READ: &str = include_str!("../../loads/deep-lists/read.lua");
/// Bytes of the lines that a walk accesses per node: half of all nodes (48 bytes) begin in one line
/// and have what is accessed in two.
const BYTES_A_NODE: f64 = 96.0;
/// Requests sent together.
const DEPTH: usize = 100;

/// redis with two lists of this many documents.
pub struct Lists {
    documents: usize,
    size_of_l2: f64,
}

impl Lists {
    /// Creates lists whose halves, which are walked, take this share of an L2.
    pub fn of(size_of_l2: f64, l2_bytes: u64) -> Lists {
        Lists {
            documents: (2.0 * size_of_l2 * l2_bytes as f64 / BYTES_A_NODE) as usize,
            size_of_l2,
        }
    }
}

impl Server for Lists {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn load_name(&self) -> &'static str {
        "deep-lists"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/bin/redis-server", "redis-server")]
    }

    fn size_of_l2(&self) -> Option<f64> {
        Some(self.size_of_l2)
    }

    fn request_at(&self) -> &'static str {
        "evalCommand"
    }

    fn recorded_requests(&self) -> u64 {
        60
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        Ok(launch(place))
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut answers = BufReader::new(running.dial()?);
        let words = ["EVAL", FILL, "0", &self.documents.to_string()];
        answers.get_mut().write_all(&encoded(&words))?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        match answer.starts_with(':') {
            true => Ok(()),
            false => Err(format!("redis answered {answer:?} to the script that fills it").into()),
        }
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let request = encoded(&["EVAL", READ, "0"]);
        let answer: (&[u8], &[u8]) = (b"$18\r\n", b".\r\n");
        Ok(Box::new(Pipeline::new(running, &request, answer, DEPTH)?))
    }
}
