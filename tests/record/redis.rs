//! Debian's redis-server, which has only dynamic symbols.

use crate::recording::{Recording, connect, free_port, record};
use corehop_traces::{EndReason, Ending, FunctionId, Trace};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::process::Command;
use tempfile::TempDir;

pub const SERVER: [&str; 7] = [
    "--save",
    "",
    "--appendonly",
    "no",
    "--bind",
    "127.0.0.1",
    "--port",
];

pub fn start(arguments: &[&str], port: u16) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    start_in(folder, "processCommand", arguments, port)
}

/// Does the same in a prepared folder, with this request marker.
pub fn start_in(folder: TempDir, marker: &str, arguments: &[&str], port: u16) -> Recording {
    start_as(record(), folder, marker, arguments, port)
}

/// Does the same with another command than [`record`].
pub fn start_as(
    recorder: Command,
    folder: TempDir,
    marker: &str,
    arguments: &[&str],
    port: u16,
) -> Recording {
    let port = port.to_string();
    let mut all = vec!["--request-at", marker];
    all.extend(arguments);
    all.extend(["--", "redis-server"]);
    all.extend(SERVER);
    all.push(&port);
    Recording::start_as(recorder, folder, all)
}

/// Returns a recording of a ready server, and a connection to it.
pub fn serving(arguments: &[&str]) -> (Recording, TcpStream) {
    let port = free_port();
    let recording = start(arguments, port);
    let stream = connect(&recording, port);
    (recording, stream)
}

/// Ends the server by a command, which is a request too.
pub fn shut_down(mut stream: &TcpStream) {
    stream.write_all(b"SHUTDOWN NOSAVE\r\n").unwrap();
}

/// Sends commands one by one, each after the answer to the previous one.
pub fn send_commands(stream: &TcpStream, count: usize) {
    let command = |number| (format!("SET key:{} {number}", number % 10), "+OK".into());
    ask(stream, (0..count).map(command));
}

/// Sends as many commands and one more, or fewer if the server ends. The recording ends it with the
/// command after the last recorded one: of `--requests` that is the last command here, of `--of` an
/// earlier one.
pub fn send_commands_and_the_last(stream: &TcpStream, count: usize) {
    let commands = (0..=count).map(|number| format!("SET key:{} {number}", number % 10));
    for command in commands {
        if !serves(stream, &command, "+OK") {
            return;
        }
    }
}

/// Sends commands with one-line answers.
pub fn ask(stream: &TcpStream, commands: impl IntoIterator<Item = (String, String)>) {
    for (command, expected) in commands {
        assert_eq!(answer(stream, &command).unwrap(), expected);
    }
}

/// Sends a command that ends the recording. The server answers it, or ends before.
pub fn ask_the_last(stream: &TcpStream, command: &str, expected: &str) {
    serves(stream, command, expected);
}

/// Returns whether the server answers a command, as expected, rather than ends.
fn serves(stream: &TcpStream, command: &str, expected: &str) -> bool {
    let answered = match answer(stream, command) {
        Ok(answer) => answer,
        Err(error) => {
            let ended = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            assert!(ended.contains(&error.kind()), "{error}");
            return false;
        }
    };
    assert!([expected, ""].contains(&answered.as_str()), "{answered}");
    !answered.is_empty()
}

/// Returns the one line that answers a command; it is empty if the server closes the connection.
fn answer(mut stream: &TcpStream, command: &str) -> std::io::Result<String> {
    stream.write_all(format!("{command}\r\n").as_bytes())?;
    let mut answer = String::new();
    // Each command waits for its answer, so nothing after this line is lost with the buffer.
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().into())
}

/// Returns how often a function was entered; a trace contains only entered functions.
pub fn entries(trace: &Trace, symbol: &str) -> u64 {
    let functions = trace.functions();
    let Some(function) = functions.iter().position(|f| f.symbol == symbol) else {
        return 0;
    };
    let function = FunctionId::from_index(function);
    let mut executions = trace.executions();
    let mut count = 0;
    while let Some(execution) = executions.next().unwrap() {
        count += u64::from(execution.entry == Some(function));
    }
    count
}

#[test]
fn as_many_requests_are_recorded_as_were_asked_for() {
    let (mut recording, stream) = serving(&["--requests", "50"]);
    send_commands_and_the_last(&stream, 50);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 50);
    assert!(trace.requests().iter().all(|request| request.complete));
    assert_eq!(
        *trace.ending(),
        Ending::Finished(EndReason::RequestsReached)
    );
    assert_eq!(entries(&trace, "processCommand"), 50);
    assert!(recording.stderr().contains("50 requests as asked"));
}

#[test]
fn every_command_sent_is_a_request() {
    let port = free_port();
    let mut recording = start(&[], port);
    let streams = [(); 3].map(|()| connect(&recording, port));
    for stream in &streams {
        send_commands(stream, 20);
    }
    shut_down(&streams[0]);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 61);
    assert_eq!(entries(&trace, "processCommand"), 61);
    assert_eq!(*trace.ending(), Ending::Finished(EndReason::ServerExited));
    // Redis serves all connections on one thread, so only the last command lacks a successor.
    let complete = trace.requests().iter().filter(|request| request.complete);
    assert_eq!(complete.count(), 60);
}

#[test]
fn the_trace_names_the_binaries_that_ran_and_their_functions() {
    let (mut recording, stream) = serving(&["--requests", "10"]);
    send_commands_and_the_last(&stream, 10);
    let trace = recording.trace();
    // By the name that was executed, whatever file it links to.
    let server = "/usr/bin/redis-server";
    let analysis = corehop_patcher::Analysis::of(server.as_ref()).unwrap();
    let modules = trace.modules();
    let module = modules.iter().position(|m| m.path == server);
    let module = module.expect("the server is a module");
    assert_eq!(Some(&*modules[module].build_id), analysis.build_id());
    assert!(
        modules
            .iter()
            .any(|m| m.path.ends_with("/libc.so.6") && m.build_id.len() == 40)
    );
    for function in trace.functions() {
        let code = &modules[function.module as usize];
        let address = code.load_bias + function.offset;
        assert!(
            (code.start..code.end).contains(&address),
            "{}",
            function.symbol
        );
        if function.module as usize == module {
            let reason = analysis.unsafe_reason(function.offset);
            assert_eq!(function.unpatchable, reason, "{}", function.symbol);
        } else if code.path.ends_with("/libc.so.6") {
            let reason = function.unpatchable.as_deref().unwrap_or_default();
            assert!(
                reason.contains("a part of libc or its loader"),
                "{}",
                function.symbol
            );
        }
    }
    let in_libraries = trace
        .functions()
        .iter()
        .filter(|function| function.module as usize != module && function.unpatchable.is_none());
    assert!(
        in_libraries.count() > 0,
        "none of a library's can be patched"
    );
    // Each block that enters a function starts at its entry.
    for (block, entry) in trace.code_blocks().iter().zip(trace.entered_functions()) {
        let Some(entry) = entry else { continue };
        let function = &trace.functions()[entry.index()];
        let bias = modules[function.module as usize].load_bias;
        assert_eq!(block.start, bias + function.offset);
    }
    assert_eq!(trace.header().request_at, "processCommand");
    assert_eq!(trace.header().command[0], "redis-server");
}

#[test]
fn the_server_runs_on_unrecorded_when_it_may() {
    let (mut recording, stream) = serving(&["--requests", "5", "--keep-running"]);
    send_commands(&stream, 6);
    recording.wait_for("the trace", || recording.path().exists().then_some(()));
    send_commands(&stream, 500);
    shut_down(&stream);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 5);
}
