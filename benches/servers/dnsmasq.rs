//! dnsmasq with two long lists; one question walks both: two phases of known size.
//!
//! The question is of type ANY for the name of an unknown address. dnsmasq searches all TXT
//! records, one after the other, and then all names of its hosts file. It finds an address by
//! comparing every name, in hash order, so that each is a line or two anywhere in memory. Ad
//! filters make it read hosts files of this length. The number of records determines the size of a
//! phase relative to an L2. Questions are datagrams, several at once.

use crate::Outcome;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

const DNSMASQ: &str = "/usr/sbin/dnsmasq";
/// Bytes of a host or a TXT record: lines that a walk accesses, by the misses of a recorded one.
const BYTES_A_RECORD: f64 = 105.0;
/// Questions sent together, few enough to fit a socket's buffer.
const DEPTH: u64 = 20;
/// Timeout of an answer, including under the recorder.
const PATIENCE: Duration = Duration::from_secs(20);
/// 9.9.99.10.in-addr.arpa, ANY, IN: all records of the address 10.99.9.9.
const QUESTION: &[u8] = b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\
                          \x019\x019\x0299\x0210\x07in-addr\x04arpa\x00\x00\xff\x00\x01";
/// Response code in the fourth byte of an answer: no such name.
const NO_SUCH_NAME: u8 = 3;

/// dnsmasq with this many hosts, and as many TXT records.
pub struct Dnsmasq {
    records: usize,
    size_of_l2: f64,
}

struct Questions {
    socket: UdpSocket,
    depth: u64,
}

impl Dnsmasq {
    /// Creates lists that each take this share of an L2.
    pub fn of(size_of_l2: f64, l2_bytes: u64) -> Dnsmasq {
        Dnsmasq {
            records: (size_of_l2 * l2_bytes as f64 / BYTES_A_RECORD) as usize,
            size_of_l2,
        }
    }
}

impl Server for Dnsmasq {
    fn name(&self) -> &'static str {
        "dnsmasq"
    }

    fn load_name(&self) -> &'static str {
        "long-lists"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[(DNSMASQ, "dnsmasq-base")]
    }

    fn size_of_l2(&self) -> Option<f64> {
        Some(self.size_of_l2)
    }

    /// Debian's program has no symbols, so requests begin at the call that receives every question.
    fn request_at(&self) -> &'static str {
        "libc.so.6:recvmsg"
    }

    fn recorded_requests(&self) -> u64 {
        50
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let (hosts, settings) = (place.folder.join("hosts"), place.folder.join("settings"));
        let address = |number: usize| {
            let [_, a, b, c] = (number as u32).to_be_bytes();
            Ipv4Addr::new(10, a, b, c)
        };
        let numbers = 0..self.records;
        let line = |number| format!("{} host{number}.example.test\n", address(number));
        std::fs::write(&hosts, numbers.clone().map(line).collect::<String>())?;
        let mut text = format!(
            "port={}\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\n\
             addn-hosts={}\nbogus-priv\nlocal=/example.test/\nuser=root\npid-file=\n",
            place.port,
            hosts.display()
        );
        text.extend(numbers.map(|number| format!("txt-record=t{number}.example.test,text\n")));
        std::fs::write(&settings, text)?;
        let settings = format!("--conf-file={}", settings.display());
        Ok(Launch {
            command: vec![DNSMASQ.into(), "--no-daemon".into(), settings],
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let socket = socket_to(running.port)?;
        let mut answer = [0; 512];
        running.wait_for("dnsmasq to answer", || {
            // Sends fail until it listens.
            let asked = socket.send(QUESTION).and_then(|_| socket.recv(&mut answer));
            asked.ok().map(|_| ())
        })
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let socket = socket_to(running.port)?;
        let depth = if running.is_recorded { 1 } else { DEPTH };
        Ok(Box::new(Questions { socket, depth }))
    }
}

impl Load for Questions {
    fn batch(&mut self) -> Outcome<Answered> {
        let start = Instant::now();
        for _ in 0..self.depth {
            self.socket.send(QUESTION)?;
        }
        let mut answer = [0; 512];
        for _ in 0..self.depth {
            let length = self
                .socket
                .recv(&mut answer)
                .map_err(|error| in_words(&error))?;
            if length < QUESTION.len() || answer[3] & 15 != NO_SUCH_NAME {
                return Err(format!("dnsmasq answered {:02x?}", &answer[..length]).into());
            }
        }
        Ok(Answered {
            requests: self.depth,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

fn socket_to(port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect((Ipv4Addr::LOCALHOST, port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

fn in_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock => format!("no answer in {} s", PATIENCE.as_secs()),
        _ => error.to_string(),
    }
}
