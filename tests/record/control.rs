//! A running recording is started, stopped, marked, and queried from another terminal.

use crate::conforming::read;
use crate::recording::Recording;
use crate::redis;
use corehop_traces::{EndReason, Ending, Note, Trace};
use std::process::{Command, Output};

pub fn control(recording: &Recording, order: &str, rest: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["control", order])
        .arg(recording.path())
        .args(rest)
        .output()
        .unwrap()
}

/// Returns the recorder's answer as JSON.
fn told(recording: &Recording, order: &str, rest: &[&str]) -> serde_json::Value {
    let output = control(recording, order, &[rest, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    read(&["control"], &output.stdout)
}

#[test]
fn requests_are_recorded_between_start_and_stop_alone() {
    let (mut recording, stream) = redis::serving(&["--paused"]);
    redis::send_commands(&stream, 10);
    let paused = told(&recording, "status", &[]);
    assert_eq!(paused["state"], "paused");
    assert_eq!(paused["requests_seen"], 10);
    assert_eq!(paused["requests_begun"], 0);
    assert_eq!(told(&recording, "start", &[])["state"], "recording");
    redis::send_commands(&stream, 5);
    told(&recording, "mark", &["half\nof it"]);
    redis::send_commands(&stream, 5);
    told(&recording, "stop", &[]);
    redis::send_commands(&stream, 10);
    let stopped = told(&recording, "status", &[]);
    assert_eq!(stopped["requests_seen"], 30);
    assert_eq!(stopped["requests_begun"], 10);
    assert_eq!(stopped["requests_ended"], 10);
    recording.signal(libc::SIGINT);
    assert_eq!(recording.finish().code(), Some(130));

    let trace = Trace::open(&recording.path()).unwrap();
    let numbers: Vec<_> = trace.requests().iter().map(|r| r.number.unwrap()).collect();
    assert_eq!(numbers, (11..=20).collect::<Vec<u64>>());
    assert!(trace.requests().iter().all(|request| request.complete));
    let note = Note {
        requests: 15,
        text: "half of it".into(),
    };
    assert_eq!(trace.notes(), [note]);
    assert_eq!(*trace.ending(), Ending::Finished(EndReason::Interrupted));
    assert!(!corehop_traces::partial_path(&recording.path()).exists());
    assert!(!recording.folder().join("trace.control").exists());
}

#[test]
fn the_slowdown_is_told_once_requests_were_served_both_ways() {
    let (mut recording, stream) = redis::serving(&[]);
    let serve_until_told = |name: &str| {
        recording.wait_for(name, || {
            redis::send_commands(&stream, 500);
            let status = told(&recording, "status", &[]);
            status[name].is_number().then_some(status)
        })
    };
    let recorded = serve_until_told("instrumented_request_seconds");
    assert!(recorded["bare_request_seconds"].is_null() && recorded["slowdown"].is_null());
    told(&recording, "stop", &[]);
    let both = serve_until_told("bare_request_seconds");
    let [instrumented, bare, slowdown] = [
        "instrumented_request_seconds",
        "bare_request_seconds",
        "slowdown",
    ]
    .map(|name| both[name].as_f64().unwrap());
    // Decimals of JSON may differ in the last digit.
    assert!((slowdown * bare / instrumented - 1.0).abs() < 1e-12);
    let said = String::from_utf8(control(&recording, "status", &[]).stdout).unwrap();
    assert!(
        said.contains(" times what one takes unrecorded, "),
        "{said}"
    );
    recording.signal(libc::SIGINT);
    recording.finish();
}

#[test]
fn a_trace_that_nobody_records_is_said_to_be() {
    let (mut recording, _) = redis::serving(&[]);
    recording.signal(libc::SIGINT);
    recording.finish();
    let output = control(&recording, "status", &[]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("corehop: no recording of"), "{said}");
}

#[test]
fn a_trace_is_recorded_by_one_recorder_at_a_time() {
    let (recording, _) = redis::serving(&[]);
    let second = crate::recording::record()
        .arg("-o")
        .arg(recording.path())
        .args(["--request-at", "processCommand", "--", "redis-server"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(4));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(
        said.contains("is being recorded by another corehop"),
        "{said}"
    );
    assert_eq!(told(&recording, "status", &[])["state"], "waiting");
}
