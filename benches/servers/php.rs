//! php-cgi with DokuWiki, over one FastCGI connection.
//!
//! One process serves one request after the other (no children), with its scripts compiled once. It
//! uses opcache without its JIT, whose code is in no file that could be hooked. A batch is sent at
//! once; php reads the next request after the previous one ends. Answers have their lengths in
//! their records, so the client only adds them up. PHP and DokuWiki determine the load's working
//! set, so it has no adjustable size.

use crate::Outcome;
use crate::dokuwiki;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Requests sent together.
const DEPTH: u64 = 10;
/// Record types: FastCGI specification, section 8.
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMETERS: u8 = 4;
const STANDARD_INPUT: u8 = 5;
const STANDARD_OUTPUT: u8 = 6;
/// The responder role, with a connection that stays open.
const BEGIN_BODY: [u8; 8] = [0, 1, 1, 0, 0, 0, 0, 0];

/// php-cgi with DokuWiki.
pub struct Php;

struct FastCgi {
    connection: BufReader<TcpStream>,
    requests: Vec<u8>,
    depth: u64,
}

impl Server for Php {
    fn name(&self) -> &'static str {
        "php-cgi"
    }

    fn load_name(&self) -> &'static str {
        "dokuwiki"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/bin/php-cgi", "php-cgi"), dokuwiki::NEEDS]
    }

    fn request_at(&self) -> &'static str {
        "php_request_startup"
    }

    fn recorded_requests(&self) -> u64 {
        24
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        dokuwiki::lay_out(&place.folder)?;
        let listen = format!("127.0.0.1:{}", place.port);
        let settings = [
            "opcache.enable=1".into(),
            "opcache.jit=disable".into(),
            "opcache.validate_timestamps=0".into(),
            format!("session.save_path={}", place.folder.display()),
        ];
        let mut command = ["/usr/bin/php-cgi", "-b", &listen]
            .map(str::to_owned)
            .to_vec();
        command.extend(
            settings
                .into_iter()
                .flat_map(|setting| ["-d".into(), setting]),
        );
        let unlimited = ("PHP_FCGI_MAX_REQUESTS".into(), "0".into());
        Ok(Launch {
            command,
            environment: vec![unlimited],
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        running.dial().map(|_| ())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let script = running.folder.join("wiki/doku.php").display().to_string();
        let request = request(&script);
        let mut load = FastCgi {
            connection: BufReader::new(running.dial()?),
            requests: request,
            depth: 1,
        };
        if running.is_recorded {
            return Ok(Box::new(load));
        }
        load.connection.get_mut().write_all(&load.requests)?;
        let answer = load.answer()?;
        if !String::from_utf8_lossy(&answer).contains(dokuwiki::MARK) {
            let answer = String::from_utf8_lossy(&answer[..answer.len().min(300)]);
            return Err(format!("DokuWiki answered {answer:?}").into());
        }
        load.depth = DEPTH;
        load.requests = load.requests.repeat(DEPTH as usize);
        Ok(Box::new(load))
    }
}

impl FastCgi {
    /// Returns the standard output of one answer.
    fn answer(&mut self) -> Outcome<Vec<u8>> {
        let mut output = Vec::new();
        loop {
            let mut head = [0; 8];
            self.connection.read_exact(&mut head)?;
            let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
            let mut body = vec![0; length + usize::from(head[6])];
            self.connection.read_exact(&mut body)?;
            match head[1] {
                STANDARD_OUTPUT => output.extend(&body[..length]),
                END_REQUEST => return Ok(output),
                _ => {}
            }
        }
    }
}

impl Load for FastCgi {
    fn batch(&mut self) -> Outcome<Answered> {
        let start = Instant::now();
        self.connection.get_mut().write_all(&self.requests)?;
        for _ in 0..self.depth {
            if self.answer()?.is_empty() {
                return Err("an empty answer".into());
            }
        }
        Ok(Answered {
            requests: self.depth,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Returns a GET request for the wiki's page.
fn request(script: &str) -> Vec<u8> {
    let query = dokuwiki::QUERY;
    let target = format!("/doku.php?{query}");
    let parameters = [
        ("SCRIPT_FILENAME", script),
        ("SCRIPT_NAME", "/doku.php"),
        ("REQUEST_URI", &target),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", "GET"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("HTTP_HOST", "localhost"),
        ("HTTP_COOKIE", dokuwiki::COOKIE),
        ("SERVER_NAME", "localhost"),
        ("SERVER_PORT", "80"),
        ("REMOTE_ADDR", "127.0.0.1"),
    ];
    let mut words = Vec::new();
    for (name, value) in parameters {
        words.push(name.len() as u8);
        // A length of four bytes has its highest bit set.
        words.extend((value.len() as u32 | 1 << 31).to_be_bytes());
        words.extend(name.as_bytes());
        words.extend(value.as_bytes());
    }
    [
        record(BEGIN_REQUEST, &BEGIN_BODY),
        record(PARAMETERS, &words),
        record(PARAMETERS, &[]),
        record(STANDARD_INPUT, &[]),
    ]
    .concat()
}

/// Returns a record of request 1.
fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = (body.len() as u16).to_be_bytes();
    let head = [1, kind, 0, 1, high, low, 0, 0];
    [&head[..], body].concat()
}
