//! haproxy that answers from its configuration, without a backend: hops do not make it faster.
//!
//! A single thread reads a request, evaluates its rules and returns a page from its configuration,
//! so no second server's time is measured. A request takes some microseconds, half of them in the
//! kernel, and its code and data fit an L2.

use crate::Outcome;
use crate::pipeline::Pipeline;
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};

const HAPROXY: &str = "/usr/sbin/haproxy";
const LAST_WORDS: &str = "the end.";
/// Requests sent together.
const DEPTH: usize = 100;

/// haproxy with one thread.
pub struct Haproxy;

impl Server for Haproxy {
    fn name(&self) -> &'static str {
        "haproxy"
    }

    fn load_name(&self) -> &'static str {
        "return"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[(HAPROXY, "haproxy")]
    }

    fn request_at(&self) -> &'static str {
        "syscalls"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let settings = place.folder.join("haproxy.cfg");
        let text = format!(
            "global\n  nbthread 1\n  maxconn 100\ndefaults\n  mode http\n  timeout client 1h\n  \
             timeout server 1h\n  timeout connect 10s\nfrontend one\n  bind 127.0.0.1:{}\n  \
             acl is_page path_end .txt\n  http-request set-header X-Seen yes if is_page\n  \
             http-request deny if !is_page\n  http-request return status 200 content-type \
             text/plain string \"{}{LAST_WORDS}\"\n",
            place.port,
            "x".repeat(1000 - LAST_WORDS.len()),
        );
        std::fs::write(&settings, text)?;
        let settings = settings.display().to_string();
        Ok(Launch {
            command: [HAPROXY, "-db", "-f", &settings].map(str::to_owned).into(),
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        running.dial().map(|_| ())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let request = b"GET /page.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let answer: (&[u8], &[u8]) = (b"HTTP/1.1 200 OK\r\n", LAST_WORDS.as_bytes());
        Ok(Box::new(Pipeline::new(running, request, answer, DEPTH)?))
    }
}
