//! redis with requests for the last page of two sorted sets: a request has two phases of known
//! size.
//!
//! ZRANGEBYSCORE with LIMIT n-10 10 walks n nodes of a skip list one after the other, and
//! ZRANGEBYLEX those of another set. Members are at random places in memory, because they were
//! added in another order. Each phase is therefore a chain of loads through its set's nodes, and
//! the number of members determines their size relative to an L2. MULTI and EXEC combine the two
//! into one request.

use crate::Outcome;
use crate::pipeline::Pipeline;
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// Bytes per member in a walk through a set, by the lines that `corehop replay --detail` first
/// finds accessed in genericZrangebylexCommand: most nodes have 48 bytes, some more.
pub const BYTES_A_MEMBER: f64 = 52.0;
pub const LAST: usize = 10;
/// Members per adding command.
const ADDED_AT_ONCE: usize = 500;

/// redis with two sets of this many members.
pub struct Redis {
    members: usize,
    size_of_l2: f64,
    requests: usize,
    recorded: u64,
}

impl Redis {
    /// Creates sets whose nodes take this share of an L2.
    pub fn of(size_of_l2: f64, l2_bytes: u64) -> Redis {
        Redis {
            members: (size_of_l2 * l2_bytes as f64 / BYTES_A_MEMBER) as usize,
            size_of_l2,
            requests: 100,
            recorded: 60,
        }
    }

    /// A small load that shows that it works.
    pub fn tiny() -> Redis {
        Redis {
            members: 1000,
            size_of_l2: 0.0,
            requests: 10,
            recorded: 30,
        }
    }

    fn request(&self) -> Vec<u8> {
        let (from, last) = ((self.members - LAST).to_string(), LAST.to_string());
        let range = |words: [&str; 4]| {
            let words = words.into_iter().chain(["LIMIT", &from, &last]);
            encoded(&words.collect::<Vec<_>>())
        };
        [
            encoded(&["MULTI"]),
            range(["ZRANGEBYSCORE", "daily", "-inf", "+inf"]),
            range(["ZRANGEBYLEX", "catalog", "-", "+"]),
            encoded(&["EXEC"]),
        ]
        .concat()
    }
}

impl Server for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn load_name(&self) -> &'static str {
        "deep-pages"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/bin/redis-server", "redis-server")]
    }

    fn size_of_l2(&self) -> Option<f64> {
        (self.size_of_l2 > 0.0).then_some(self.size_of_l2)
    }

    fn request_at(&self) -> &'static str {
        "execCommand"
    }

    fn recorded_requests(&self) -> u64 {
        self.recorded
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        Ok(launch(place))
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut answers = BufReader::new(running.dial()?);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        add_set(
            &mut answers,
            ("daily", "user", true),
            self.members,
            &mut random,
        )?;
        add_set(
            &mut answers,
            ("catalog", "item", false),
            self.members,
            &mut random,
        )
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let last = format!("$13\r\nitem:{:08}\r\n", self.members - 1);
        let answer: (&[u8], &[u8]) = (b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n", last.as_bytes());
        let load = Pipeline::new(running, &self.request(), answer, self.requests)?;
        Ok(Box::new(load))
    }
}

/// Returns how redis is started, for any sets.
pub fn launch(place: &Place) -> Launch {
    let port = place.port.to_string();
    let words = ["/usr/bin/redis-server", "--bind", "127.0.0.1", "--save", ""];
    let more = ["--appendonly", "no", "--loglevel", "warning", "--port"];
    let words = words.into_iter().chain(more).chain([&*port]);
    Launch {
        command: words.map(str::to_owned).collect(),
        ..Launch::default()
    }
}

/// Adds a set of this many members, in random order. Arguments are its key, the prefix of its
/// members' names, and whether members have different scores.
pub fn add_set(
    answers: &mut BufReader<TcpStream>,
    (key, name, is_scored): (&str, &str, bool),
    members: usize,
    random: &mut ChaCha8Rng,
) -> Outcome<()> {
    let mut members: Vec<usize> = (0..members).collect();
    members.shuffle(random);
    for some in members.chunks(ADDED_AT_ONCE) {
        let mut words = vec!["ZADD".to_owned(), key.to_owned()];
        for member in some {
            let score = if is_scored { *member } else { 0 };
            words.extend([score.to_string(), format!("{name}:{member:08}")]);
        }
        add(answers, &words, some.len())?;
    }
    Ok(())
}

/// Sends a command that adds this many members.
fn add(answers: &mut BufReader<TcpStream>, words: &[String], members: usize) -> Outcome<()> {
    answers.get_mut().write_all(&encoded(words))?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    match answer.trim_end() == format!(":{members}") {
        true => Ok(()),
        false => Err(format!("redis answered {answer:?} to ZADD").into()),
    }
}

/// Encodes a command for redis.
pub fn encoded(words: &[impl AsRef<str>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words.iter().map(AsRef::as_ref) {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}
