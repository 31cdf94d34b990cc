//! Requests in datagrams: each call that receives some is a request, on sockets that serve.

use crate::recording::{PATIENCE, Recording, compile, free_port, send};
use std::net::{Ipv4Addr, UdpSocket};

/// Returns a socket that has sent `message` after the server bound its own, and the answer.
fn asked(recording: &Recording, port: u16, message: &[u8]) -> (UdpSocket, Vec<u8>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let bound = format!("0100007F:{port:04X}");
    recording.wait_for("the server to bind its socket", || {
        // A socket's own address is in the second column: proc_net(5).
        let table = std::fs::read_to_string("/proc/net/udp").unwrap();
        let mut own = table
            .lines()
            .filter_map(|row| row.split_whitespace().nth(1));
        own.find(|own| *own == bound).map(|_| ())
    });
    let answer = ask(&socket, message);
    (socket, answer)
}

fn ask(socket: &UdpSocket, message: &[u8]) -> Vec<u8> {
    socket.send(message).unwrap();
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).unwrap();
    answer[..length].to_vec()
}

/// Alternates between all calls that can receive, and answers with the number of messages. Before
/// each answer it sends a query to another socket, which is no request.
const RECEIVES: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static int bound(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(made, (void *)&address, sizeof address)) exit(1);
    return made;
}
int main(int count, char **arguments) {
    int from = bound(atoi(arguments[1])), asking = bound(0), asked = bound(0);
    struct sockaddr_in name;
    socklen_t length = sizeof name;
    getsockname(asked, (void *)&name, &length);
    char bytes[64] = "";
    struct iovec vector = {bytes, sizeof bytes};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
    for (int request = 0; *bytes != 'Q'; request++) {
        struct sockaddr_in client;
        message.msg_hdr.msg_name = &client;
        message.msg_hdr.msg_namelen = sizeof client;
        recv(from, bytes, sizeof bytes, MSG_PEEK);
        length = sizeof client;
        switch (request % 3) {
        case 0: recvfrom(from, bytes, sizeof bytes, 0, (void *)&client, &length); break;
        case 1: recvmsg(from, &message.msg_hdr, 0); break;
        case 2: recvmmsg(from, &message, 1, 0, 0); break;
        }
        char asks[8] = "";
        sendto(asking, "?", 1, 0, (void *)&name, sizeof name);
        struct sockaddr_in other;
        length = sizeof other;
        recvfrom(asked, asks, 1, 0, (void *)&other, &length);
        sendto(asked, "!", 1, 0, (void *)&other, sizeof other);
        recv(asking, asks, 1, 0);
        sendto(from, asks, 1, 0, (void *)&client, sizeof client);
    }
    return 0;
}
"#;

#[test]
fn each_call_that_receives_a_datagram_is_a_request() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", RECEIVES, &[]);
    let port = free_port();
    let number = port.to_string();
    let arguments = ["--request-at", "syscalls", "--", "./server", &number];
    let mut recording = Recording::start_in(folder, arguments);
    let (socket, _) = asked(&recording, port, b"first");
    for _ in 0..20 {
        assert_eq!(ask(&socket, b"next"), b"!");
    }
    ask(&socket, b"Q");
    let trace = recording.trace();
    // The queried socket inside the server serves as well; the querying socket does not.
    let mut connections: Vec<u64> = trace
        .requests()
        .iter()
        .filter_map(|r| r.connection)
        .collect();
    assert_eq!(connections.len(), trace.requests().len());
    assert!(connections.chunks(2).all(|pair| pair == &connections[..2]));
    assert!(connections.len() >= 2 * 22);
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), 2);
}

/// Queries the address of `a.test`.
const QUERY: &[u8] =
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x04test\x00\x00\x01\x00\x01";

#[test]
fn a_name_server_dnsmasq() {
    let port = free_port();
    let number = format!("--port={port}");
    let arguments = [
        "--request-at",
        "syscalls",
        "--",
        "/usr/sbin/dnsmasq",
        "-k",
        &number,
    ];
    let options = [
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--user=root",
        "--pid-file=",
        "--listen-address=127.0.0.1",
        "--bind-interfaces",
        "--address=/test/127.0.0.9",
    ];
    let all = arguments.into_iter().chain(options);
    let mut recording = Recording::start_in(tempfile::tempdir().unwrap(), all);
    let (socket, answer) = asked(&recording, port, QUERY);
    assert!(answer.ends_with(&[127, 0, 0, 9]));
    for _ in 0..20 {
        assert!(ask(&socket, QUERY).ends_with(&[127, 0, 0, 9]));
    }
    send(recording.server(), libc::SIGTERM);
    let trace = recording.trace();
    assert!(trace.requests().len() >= 21, "{}", trace.requests().len());
    assert!(trace.requests().len() < 40, "{}", trace.requests().len());
    let first = trace.requests()[0].connection;
    assert!(first.is_some() && trace.requests().iter().all(|r| r.connection == first));
}
