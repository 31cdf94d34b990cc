//! What recording needs: QEMU, the plugin, both together, and the symbolizer.

use super::{Check, Finding};
use crate::failure::Failure;
use crate::record::tools::{self, Tools};
use crate::symbols;
use corehop_ring::{Memory, RequestMarker, Settings};
use std::os::fd::AsRawFd;
use std::path::Path;

/// A program that every Linux has and that ends at once.
const SMALL: &str = "/bin/true";

/// All checks.
pub fn look() -> Vec<Finding> {
    let (qemu, plugin) = (check("qemu"), check("plugin"));
    let mut findings = vec![
        match tools::qemu() {
            Ok((path, version)) => qemu.ok(format!("{version}, at {}", path.display())),
            Err(failure) => missing(qemu, &failure),
        },
        match tools::plugin() {
            Ok(path) if path.starts_with("/proc") => plugin.ok("carried by this command"),
            Ok(path) => plugin.ok(path.display().to_string()),
            Err(failure) => missing(plugin, &failure),
        },
    ];
    findings.extend(tools::find().ok().map(|tools| try_plugin(&tools)));
    let symbolizer = check("symbolizer");
    findings.push(match symbols::of(Path::new(SMALL)) {
        Ok(functions) => symbolizer.ok(format!("found {} functions of {SMALL}", functions.len())),
        Err(failure) => missing(symbolizer, &failure),
    });
    findings
}

fn check(name: &'static str) -> Check {
    Check {
        name,
        serves: "record",
    }
}

fn missing(check: Check, failure: &Failure) -> Finding {
    check.missing(failure.to_string(), failure.hint())
}

/// Has QEMU load the plugin, and the plugin open the memory that it would record into.
fn try_plugin(tools: &Tools) -> Finding {
    let check = check("recording");
    let (memory, file) = match Memory::create(&Settings::default()) {
        Ok(created) => created,
        Err(error) => return check.missing(error.to_string(), "free some memory"),
    };
    memory.set_marker(&RequestMarker::SystemCalls);
    let shared = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let output = tools.command(Path::new(&shared)).arg(SMALL).output();
    let said = match &output {
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    match memory.is_loaded() && output.is_ok_and(|output| output.status.success()) {
        true => check.ok(format!("{SMALL} ran under QEMU with the plugin")),
        false => check.missing(
            format!("QEMU did not run {SMALL} with the plugin: {said}"),
            "use the plugin built with this command and a QEMU with plugin API 1 (6 to 8)",
        ),
    }
}
