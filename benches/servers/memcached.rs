//! Unmodified memcached with repeated requests of one key: a server that hops cannot help.
//!
//! A get takes a microsecond or two and accesses little memory; its row shows the cost of hops for
//! a server whose requests fit an L1. Debian's program has no symbols, so its system calls mark
//! where requests begin. Under the recorder, each request waits for its answer.

use crate::Outcome;
use crate::pipeline::Pipeline;
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};
use std::io::{BufRead, BufReader, Write};

const VALUE_BYTES: usize = 100;
/// Requests sent together: fewer than memcached reads at once, 16 KiB.
const DEPTH: usize = 500;

/// memcached with one thread.
pub struct Memcached;

impl Server for Memcached {
    fn name(&self) -> &'static str {
        "memcached"
    }

    fn load_name(&self) -> &'static str {
        "get"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/bin/memcached", "memcached")]
    }

    fn request_at(&self) -> &'static str {
        "syscalls"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let port = place.port.to_string();
        let words = ["/usr/bin/memcached", "-l", "127.0.0.1", "-t", "1", "-p"];
        let mut words: Vec<String> = words.map(str::to_owned).into();
        words.push(port);
        if rustix::process::geteuid().is_root() {
            words.extend(["-u", "root"].map(str::to_owned));
        }
        Ok(Launch {
            command: words,
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut answers = BufReader::new(running.dial()?);
        let value = "v".repeat(VALUE_BYTES);
        write!(
            answers.get_mut(),
            "set key 0 0 {VALUE_BYTES}\r\n{value}\r\n"
        )?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        match answer.trim_end() {
            "STORED" => Ok(()),
            _ => Err(format!("memcached answered {answer:?} to set").into()),
        }
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let answer: (&[u8], &[u8]) = (b"VALUE key 0 100\r\n", b"\r\nEND\r\n");
        Ok(Box::new(Pipeline::new(
            running,
            b"get key\r\n",
            answer,
            DEPTH,
        )?))
    }
}
