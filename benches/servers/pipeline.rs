//! Sends the same request many times over one connection at once, and reads as many answers.
//!
//! The answers are as long as the first one, which is checked, so nothing has to be parsed. A
//! client that sends a hundred requests sleeps while they are served, and leaves its CPU to the
//! server's hops. Rejected: waking it only when all answers are there (SO_RCVLOWAT), because unread
//! data is acknowledged late, which stalls the server for 40 ms.

use crate::Outcome;
use crate::running::Running;
use crate::server::{Answered, Load};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// One connection.
pub struct Pipeline {
    stream: TcpStream,
    /// The requests of one batch.
    requests: Vec<u8>,
    depth: usize,
    answers: Vec<u8>,
    /// Text at the end of every answer.
    end: Vec<u8>,
}

impl Pipeline {
    /// Sends one request. Uses its answer up to `end` as the form of every answer, if it begins
    /// with `start`. `depth` requests make a batch; under the recorder, a batch is one request.
    pub fn new(
        running: &mut Running,
        request: &[u8],
        (start, end): (&[u8], &[u8]),
        depth: usize,
    ) -> Outcome<Pipeline> {
        Pipeline::of_all(running, &vec![request.to_vec(); depth], (start, end))
    }

    /// The same for a batch of these requests; all have the same answer as the first.
    pub fn of_all(
        running: &mut Running,
        requests: &[Vec<u8>],
        (start, end): (&[u8], &[u8]),
    ) -> Outcome<Pipeline> {
        let request = requests.first().ok_or("no request")?;
        let mut stream = running.dial()?;
        stream.write_all(request)?;
        let mut answer = Vec::new();
        let mut part = [0; 4096];
        while !answer.ends_with(end) {
            let length = stream.read(&mut part)?;
            answer.extend(&part[..length]);
            if length == 0 || !answer.starts_with(&start[..start.len().min(answer.len())]) {
                let answer = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
                return Err(format!("the server answered {answer:?}").into());
            }
        }
        let depth = if running.is_recorded {
            1
        } else {
            requests.len()
        };
        Ok(Pipeline {
            stream,
            requests: requests[..depth].concat(),
            depth,
            answers: vec![0; answer.len() * depth],
            end: end.to_vec(),
        })
    }
}

impl Load for Pipeline {
    fn batch(&mut self) -> Outcome<Answered> {
        let start = Instant::now();
        self.stream.write_all(&self.requests)?;
        self.stream.read_exact(&mut self.answers)?;
        if !self.answers.ends_with(&self.end) {
            return Err("the answers are not as long as the first was".into());
        }
        Ok(Answered {
            requests: self.depth as u64,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}
