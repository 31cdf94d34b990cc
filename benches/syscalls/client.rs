//! Connections that each send a request, wait for the answer, and repeat, all from one thread.
//!
//! Unlike the clients of other benches, these wait for each answer, because this bench varies the
//! number of connections with a pending request. The beginning and end of every answer are checked.
//! It prints requests per second and the 50th and 99th percentile of latency.

use crate::mariadb_session;
use crate::patched::Outcome;
use rustix::event::{Timespec, epoll};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Timeout of an answer; after it, the answer counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_EVENTS: usize = 64;

/// The request, and the beginning and end of its answer.
pub struct Question {
    pub asked: Vec<u8>,
    /// Opens a connection, if the protocol needs it.
    pub opening: Option<fn(&mut TcpStream) -> Outcome<()>>,
    pub begins: &'static [u8],
    pub ends: &'static [u8],
    pub by_datagrams: bool,
}

impl Question {
    /// Returns the question for a server that the bench supports.
    fn of(server: &str) -> Option<Question> {
        let page = b"GET /page.txt HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice();
        let row = mariadb_session::statement("select text from bench.pages where id = 500");
        let (asked, begins, ends): (&[u8], &'static [u8], &'static [u8]) = match server {
            "memcached" => (b"get key\r\n", b"VALUE key 0 100\r\n", b"\r\nEND\r\n"),
            "nginx" | "apache2" => (page, b"HTTP/1.1 200 OK\r\n", b"the end\n"),
            "mariadbd" => (
                &row,
                b"\x01\0\0\x01\x01",
                b"the end\x05\0\0\x05\xfe\0\0\x02\0",
            ),
            "redis" => (b"*1\r\n$4\r\nPING\r\n", b"+PONG", b"\r\n"),
            // A name in the bench's zone, and its address.
            "bind9" => (
                b"\x12\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x04test\x00\
                  \x00\x01\x00\x01",
                b"\x12\x34\x84\x00\x00\x01\x00\x01",
                b"\x0a\x01\x02\x03",
            ),
            _ => return None,
        };
        Some(Question {
            asked: asked.into(),
            opening: (server == "mariadbd").then_some(mariadb_session::open),
            begins,
            ends,
            by_datagrams: server == "bind9",
        })
    }

    fn is_whole(&self, answer: &[u8]) -> Result<bool, String> {
        let compared = answer.len().min(self.begins.len());
        if answer[..compared] != self.begins[..compared] {
            return Err(format!("answered {:?}", String::from_utf8_lossy(answer)));
        }
        let enough = self.begins.len() + self.ends.len();
        Ok(answer.len() >= enough && answer.ends_with(self.ends))
    }
}

enum Socket {
    Stream(TcpStream),
    Datagrams(UdpSocket),
}

impl Socket {
    fn dial(port: u16, question: &Question) -> Outcome<Socket> {
        let at = (Ipv4Addr::LOCALHOST, port);
        if question.by_datagrams {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.connect(at)?;
            socket.set_nonblocking(true)?;
            return Ok(Socket::Datagrams(socket));
        }
        let mut stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        if let Some(open) = question.opening {
            open(&mut stream)?;
        }
        stream.set_nonblocking(true)?;
        Ok(Socket::Stream(stream))
    }

    fn file(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Stream(stream) => stream.as_fd(),
            Socket::Datagrams(socket) => socket.as_fd(),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Socket::Stream(stream) => stream.write_all(bytes),
            Socket::Datagrams(socket) => socket.send(bytes).map(|_| ()),
        }
    }

    fn receive(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Socket::Stream(stream) => stream.read(into),
            Socket::Datagrams(socket) => socket.recv(into),
        }
    }
}

struct Connection {
    socket: Socket,
    asked_at: Instant,
    answer: Vec<u8>,
}

/// Runs `SERVER PORT CONNECTIONS REQUESTS`, or `SERVER PORT fill` to fill it with data.
pub fn run(words: &[String]) -> Outcome<()> {
    let [server, port, connections, rest @ ..] = words else {
        return Err("--client SERVER PORT CONNECTIONS REQUESTS".into());
    };
    let port = port.parse()?;
    let question = Question::of(server).ok_or("no such server")?;
    if connections == "fill" {
        return fill(server, port, &question);
    }
    let requests = rest.first().ok_or("how many REQUESTS?")?.parse()?;
    ask(&question, port, connections.parse()?, requests)
}

fn fill(server: &str, port: u16, question: &Question) -> Outcome<()> {
    if server == "bind9" {
        return await_zone(question, port);
    }
    if server == "memcached" {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        write!(stream, "set key 0 0 100\r\n{}\r\n", "v".repeat(100))?;
        let mut answer = [0; 8];
        stream.read_exact(&mut answer)?;
        if answer != *b"STORED\r\n" {
            return Err("memcached did not store".into());
        }
    }
    Ok(())
}

/// Before named has read its zone, it answers with a failure.
fn await_zone(question: &Question, port: u16) -> Outcome<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let outcome = ask(question, port, 1, 1);
        if outcome.is_ok() || Instant::now() > deadline {
            return outcome;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ask(question: &Question, port: u16, connections: usize, requests: usize) -> Outcome<()> {
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut all = Vec::new();
    for number in 0..connections {
        let socket = Socket::dial(port, question)?;
        let wanted = epoll::EventData::new_u64(number as u64);
        epoll::add(&ready, socket.file(), wanted, epoll::EventFlags::IN)?;
        all.push(Connection {
            socket,
            asked_at: Instant::now(),
            answer: Vec::new(),
        });
    }
    let mut took = Vec::with_capacity(requests);
    let began = Instant::now();
    let mut asked = 0;
    for connection in all.iter_mut().take(requests) {
        connection.ask(question)?;
        asked += 1;
    }
    let mut events = Vec::with_capacity(MOST_EVENTS);
    let patience = Timespec::try_from(PATIENCE)?;
    while took.len() < requests {
        events.clear();
        epoll::wait(
            &ready,
            rustix::buffer::spare_capacity(&mut events),
            Some(&patience),
        )?;
        if events.is_empty() {
            return Err(format!("no answer in {} s", PATIENCE.as_secs()).into());
        }
        for event in &events {
            let connection = &mut all[event.data.u64() as usize];
            if !connection.hear(question)? {
                continue;
            }
            took.push(connection.asked_at.elapsed());
            if asked < requests {
                connection.ask(question)?;
                asked += 1;
            }
        }
    }
    let rate = requests as f64 / began.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1e6;
    println!("rate {rate:.0}\np50 {:.1}\np99 {:.1}", at(50), at(99));
    Ok(())
}

impl Connection {
    fn ask(&mut self, question: &Question) -> Outcome<()> {
        self.answer.clear();
        self.asked_at = Instant::now();
        Ok(self.socket.send(&question.asked)?)
    }

    /// Whether the answer is complete.
    fn hear(&mut self, question: &Question) -> Outcome<bool> {
        let mut some = [0; 4096];
        match self.socket.receive(&mut some) {
            Ok(0) => Err("the server closed a connection".into()),
            Ok(bytes) => {
                self.answer.extend(&some[..bytes]);
                Ok(question.is_whole(&self.answer)?)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
