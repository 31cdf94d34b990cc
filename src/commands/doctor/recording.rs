//! Checks the requirements of recording: QEMU, the plugin, both together, and the symbolizer.

use super::finding::{Check, Finding, State};
use crate::recording::CARRIED;
use corehop_recorder::system;
use corehop_recorder::tools::{self, Tools};
use corehop_wire::ring::{Memory, RequestMarker, Settings};
use std::os::fd::AsRawFd;
use std::path::Path;

/// A program of every Linux system that ends at once.
const SMALL: &str = "/bin/true";

/// All checks.
pub fn look() -> Vec<Finding> {
    let (qemu, plugin) = (check("qemu"), check("plugin"));
    let mut findings = vec![
        match tools::qemu() {
            Ok(found) => qemu.ok(format!("{}, at {}", found.version, found.path.display())),
            Err(error) => missing(qemu, &error),
        },
        match tools::qemu().map_or_else(
            |_| tools::usual_plugin(&CARRIED),
            |found| found.plugin(&CARRIED),
        ) {
            Ok(path) if path.starts_with("/proc") => plugin.ok("carried by this command"),
            Ok(path) => plugin.ok(path.display().to_string()),
            Err(error) => missing(plugin, &error),
        },
    ];
    findings.extend(
        tools::find(&CARRIED)
            .ok()
            .map(|tools| try_plugin(check("recording"), &tools)),
    );
    findings.extend(newer_qemu());
    findings.push(machine());
    let symbolizer = check("symbolizer");
    findings.push(match corehop_symbolizer::of(Path::new(SMALL)) {
        Ok(functions) => symbolizer.ok(format!("found {} functions of {SMALL}", functions.len())),
        Err(error) => symbolizer.missing(error.to_string(), error.remedy()),
    });
    findings
}

/// Checks whether the QEMU of `make qemu` exists and loads its plugin. Returns `None` if recordings
/// use it anyway.
fn newer_qemu() -> Option<Finding> {
    let check = check("qemu 10");
    let remedy = "`make qemu` in a checkout builds it from Debian's source in some \
                  minutes; with the Debian package, `sh /usr/share/corehop/scripts/qemu.sh`";
    let path = tools::built_qemu();
    if tools::qemu().is_ok_and(|used| used.path == path) {
        return None;
    }
    if !path.is_file() {
        let shown = path.display();
        let found = format!("not built ({shown}): postgres crashes under older ones");
        return Some(check.warn(found, remedy));
    }
    let tools = tools::qemu_at(path).and_then(|qemu| {
        let plugin = qemu.plugin(&CARRIED)?;
        Ok(Tools { qemu, plugin })
    });
    let tried = match tools {
        Ok(tools) => {
            let tried = try_plugin(check, &tools);
            let place = format!("COREHOP_QEMU={} takes it", tools.qemu.path.display());
            let found = format!("{}: {}; {place}", tools.qemu.version, tried.found);
            Finding { found, ..tried }
        }
        Err(error) => missing(check, &error),
    };
    // Other servers do not need it.
    Some(match tried.state {
        State::Missing => Finding {
            state: State::Warn,
            ..tried
        },
        _ => tried,
    })
}

/// Checks the requirements of recording a machine with --system. Other recordings do not need them.
fn machine() -> Finding {
    let check = check("machine");
    let qemu = match tools::system_qemu() {
        Ok(qemu) => qemu,
        Err(error) => return check.warn(error.to_string(), error.remedy()),
    };
    match system::parts() {
        Ok(parts) => {
            let (kernel, path) = (parts.kernel.display(), qemu.path.display());
            check.ok(format!("{path} {}, with {kernel}", qemu.version))
        }
        Err(error) => check.warn(error.to_string(), error.remedy()),
    }
}

fn check(name: &'static str) -> Check {
    Check {
        name,
        serves: "record",
    }
}

fn missing(check: Check, error: &tools::Error) -> Finding {
    check.missing(error.to_string(), error.remedy())
}

/// Lets QEMU load the plugin, and lets the plugin open the memory for a recording.
fn try_plugin(check: Check, tools: &Tools) -> Finding {
    let (memory, file) = match Memory::create(&Settings::default()) {
        Ok(created) => created,
        Err(error) => return check.missing(error.to_string(), "free some memory"),
    };
    memory.set_marker(&RequestMarker::SystemCalls);
    let shared = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let output = tools
        .command(Path::new(&shared), true, &[], None)
        .arg(SMALL)
        .output();
    let said = match &output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            said.lines().collect::<Vec<_>>().join("; ")
        }
        Err(error) => error.to_string(),
    };
    match memory.is_loaded() && output.is_ok_and(|output| output.status.success()) {
        true => check.ok(format!("{SMALL} ran under QEMU with the plugin")),
        false => check.missing(
            format!("QEMU did not run {SMALL} with the plugin: {said}"),
            "use the plugin built with this command for this QEMU's plugin API",
        ),
    }
}
