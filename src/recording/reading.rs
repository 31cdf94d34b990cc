//! The state of a recording as text: for its own terminal and for `corehop control`.

use corehop_recorder::Reading;
use indicatif::{HumanBytes, HumanDuration};
use std::time::Duration;

/// Returns one line for a terminal.
pub fn line(reading: &Reading) -> String {
    let server = HumanBytes(reading.server_bytes);
    if reading.requests_seen == 0 {
        return format!("waiting for the first request, server {server}");
    }
    let of = reading.requests_asked.map(|asked| format!(" of {asked}"));
    format!(
        "{}: {}{} requests ({} seen), {} loads and stores, {} written{}, held up {:.1} s by \
         the recorder, server {server}",
        reading.state,
        reading.requests_begun,
        of.unwrap_or_default(),
        reading.requests_seen,
        millions(reading.data_accesses),
        HumanBytes(reading.trace_bytes),
        cost(reading),
        reading.waited_seconds,
    )
}

/// Returns the cost of a request, as far as it is known.
fn cost(reading: &Reading) -> String {
    let Some(seconds) = reading.instrumented_request_seconds else {
        return String::new();
    };
    let cost = format!(", {:.2} ms of CPU a request", seconds * 1e3);
    match reading.slowdown {
        Some(slowdown) => format!("{cost}, {slowdown:.1} times what one takes unrecorded"),
        None => cost,
    }
}

/// Estimates the cost of the whole recording from the cost since `first`.
pub fn preview(reading: &Reading, first: &Reading) -> Option<String> {
    let seconds = reading.seconds - first.seconds;
    let ended = (reading.requests_ended - first.requests_ended) as f64;
    let seen = (reading.requests_seen - first.requests_seen) as f64;
    let written = reading
        .requests_written
        .saturating_sub(first.requests_written) as f64;
    let bytes = reading.trace_bytes.saturating_sub(first.trace_bytes) as f64;
    if seconds <= 0.0 || ended == 0.0 || written == 0.0 {
        return None;
    }
    // Divided by written requests: the recorder may not have processed many others yet.
    let bytes_each = bytes / written;
    let free = HumanBytes(reading.disk_free_bytes);
    let so_far = format!(
        "{:.0} requests recorded in {seconds:.0} s, {} each",
        ended,
        HumanBytes(bytes_each.round() as u64)
    );
    Some(match reading.requests_asked {
        Some(asked) => {
            let times = asked as f64 / ended;
            let took = Duration::from_secs_f64((seconds * times).min(1e9));
            let size = HumanBytes((bytes_each * asked as f64) as u64);
            format!(
                "{so_far}: all {asked} will take about {} and {size} ({free} are free)",
                HumanDuration(took)
            )
        }
        None => {
            let hourly = HumanBytes((bytes_each * ended / seconds * 3600.0) as u64);
            let rate = seen / seconds;
            format!("{so_far}, {rate:.1} a second: about {hourly} an hour ({free} are free)")
        }
    })
}
/// Formats `12.3 M`.
pub fn millions(count: u64) -> String {
    format!("{:.1} M", count as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seconds: f64, requests: u64, trace_bytes: u64) -> Reading {
        Reading {
            state: "recording".into(),
            seconds,
            requests_seen: requests,
            requests_begun: requests,
            requests_ended: requests,
            requests_written: requests,
            requests_asked: Some(1000),
            data_accesses: 0,
            trace_bytes,
            disk_free_bytes: 5 << 30,
            server_bytes: 0,
            recorder_bytes: 0,
            instrumented_request_seconds: None,
            bare_request_seconds: None,
            slowdown: None,
            waited_seconds: 0.0,
        }
    }

    #[test]
    fn a_preview_goes_by_what_the_first_seconds_cost() {
        let first = reading(10.0, 0, 1 << 20);
        let now = reading(13.0, 50, 2 << 20);
        assert_eq!(
            preview(&now, &first).unwrap(),
            "50 requests recorded in 3 s, 20.48 KiB each: all 1000 will take about 60 seconds and \
             20.00 MiB (5.00 GiB are free)"
        );
        let behind = Reading {
            requests_written: 5,
            trace_bytes: (1 << 20) + 104_858,
            ..reading(13.0, 50, 0)
        };
        assert_eq!(preview(&behind, &first), preview(&now, &first));
        let endless = Reading {
            requests_asked: None,
            ..now
        };
        assert_eq!(
            preview(&endless, &first).unwrap(),
            "50 requests recorded in 3 s, 20.48 KiB each, 16.7 a second: about 1.17 GiB an hour \
             (5.00 GiB are free)"
        );
        let small = reading(13.0, 50, (1 << 20) + 15_040);
        let said = preview(&small, &first).unwrap();
        assert!(
            said.starts_with("50 requests recorded in 3 s, 301 B each: "),
            "{said}"
        );
        assert!(preview(&first, &first).is_none());
    }

    #[test]
    fn a_line_says_what_a_request_takes_and_the_slowdown_where_it_is_known() {
        let mut now = reading(13.0, 50, 2 << 20);
        let rest = "held up 0.0 s by the recorder, server 0 B";
        let begin = "recording: 50 of 1000 requests (50 seen), 0.0 M loads and stores, 2.00 MiB \
                     written";
        assert_eq!(line(&now), format!("{begin}, {rest}"));
        now.instrumented_request_seconds = Some(0.012_345);
        let cost = "12.35 ms of CPU a request";
        assert_eq!(line(&now), format!("{begin}, {cost}, {rest}"));
        now.slowdown = Some(3.06);
        let slowdown = "3.1 times what one takes unrecorded";
        assert_eq!(line(&now), format!("{begin}, {cost}, {slowdown}, {rest}"));
    }
}
