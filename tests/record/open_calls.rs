//! Calls that were open when a recording began or resumed end in a replay as in the server.
//!
//! The function at the request's marker always is such a call: the instruction that called it ran
//! before the recording.

use crate::going_back::{Planned, number, plan, predicted};
use crate::recording::{Recording, connect, free_port, send};
use crate::redis::{SERVER, ask, ask_the_last, send_commands_and_the_last, shut_down, start_in};
use corehop_patcher::patch;
use corehop_plan::Mode::Call;
use corehop_plan::Plan;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

const REDIS: &str = "/usr/bin/redis-server";

/// Records redis under a load, with requests that begin at this function.
fn recorded(marker: &str, arguments: &[&str], load: impl Fn(&TcpStream)) -> Recording {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let mut all = vec!["--memory-limit", "2000", "--keep-running"];
    all.extend(arguments);
    let mut recording = start_in(folder, marker, &all, port);
    let stream = connect(&recording, port);
    load(&stream);
    shut_down(&stream);
    recording.trace();
    recording
}

/// Returns the hops of redis with this plan under the load, and the entries of its first function.
fn counted(folder: &Path, plan: &Plan, load: impl Fn(&TcpStream)) -> (u64, u64) {
    let (hooked, statistics) = (folder.join("redis.hop"), folder.join("statistics"));
    patch(Path::new(REDIS), plan, &hooked, true).unwrap();
    let port = free_port();
    let mut server = Command::new(&hooked)
        .args(SERVER)
        .arg(port.to_string())
        .env("COREHOP_BACKEND", "count")
        .env("COREHOP_STATS", &statistics)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let stream = loop {
        if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            break stream;
        }
        assert_eq!(server.try_wait().unwrap(), None, "redis listens");
        std::thread::sleep(std::time::Duration::from_millis(5)); // waits: between looks
    };
    load(&stream);
    send(server.id(), libc::SIGTERM);
    assert!(server.wait().unwrap().success());
    let text = std::fs::read(statistics).unwrap();
    let all: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let calls = all["functions"][0]["calls"].as_u64().unwrap();
    (number(&text, "hops"), calls)
}

#[test]
fn the_function_at_the_marker_takes_its_thread_back_from_the_first_request_on() {
    let load = |stream: &TcpStream| send_commands_and_the_last(stream, 600);
    let recording = recorded("processCommand", &["--requests", "600"], load);
    let plan = plan(Path::new(REDIS), &[("processCommand", 1, Call)]);
    assert_eq!(predicted(&recording, &plan), 2 * 600);
    let (hops, requests) = counted(recording.folder(), &plan, load);
    assert_eq!((hops, requests), (2 * 601, 601));
}

#[test]
fn a_function_that_the_first_request_jumps_to_does_not_keep_its_thread() {
    let load = |stream: &TcpStream| {
        let command = |count: u64| ("INCR number".into(), format!(":{count}"));
        ask(stream, (1..=300).map(command));
        ask_the_last(stream, "INCR number", ":301");
    };
    let recording = recorded("incrCommand", &["--requests", "300"], load);
    let plan = plan(Path::new(REDIS), &[("incrDecrCommand", 1, Call)]);
    assert_eq!(predicted(&recording, &plan), 2 * 300);
    let (hops, requests) = counted(recording.folder(), &plan, load);
    assert_eq!((hops, requests), (2 * 301, 301));
}

#[test]
fn requests_recorded_in_part_hop_as_often_as_each_does_in_the_server() {
    let load = |stream: &TcpStream| send_commands_and_the_last(stream, 400);
    let choice = ["--requests", "20", "--of", "400", "--seed", "3"];
    let recording = recorded("processCommand", &choice, load);
    let of_its_own: &[Planned] = &[("processCommand", 1, Call)];
    let alone = plan(Path::new(REDIS), of_its_own);
    assert_eq!(predicted(&recording, &alone), 2 * 20);
    // The caller of the marker is open across the gaps: it is entered at the end of a recorded
    // request, and left in the middle of the next.
    let enclosed = [("processCommand", 0, Call), ("processInputBuffer", 1, Call)];
    let enclosed = plan(Path::new(REDIS), &enclosed);
    let (hops, requests) = counted(recording.folder(), &enclosed, load);
    assert_eq!((hops, requests), (4 * 401, 401));
    // Before the first one, the trace does not show that the thread is in it and on core 1.
    assert_eq!(predicted(&recording, &enclosed), 4 * 20 - 3);
}
