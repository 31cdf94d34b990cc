//! The bundled sample of four connections, used if nothing is recorded here.

use crate::{Outcome, in_checkout};
use corehop_traces::{RequestId, Trace, WriterOptions, copy};
use object::Object;
use std::path::{Path, PathBuf};

const SAMPLE: &str = "traces/samples/mariadb-tpcc-4.trace";
/// Number of requests that show that it works.
const FEW: usize = 16;

/// Returns the sample, or a trace of its first requests in this folder.
pub fn make(folder: &Path, is_short: bool) -> Outcome<PathBuf> {
    let whole = in_checkout(SAMPLE);
    if !is_short {
        return Ok(whole);
    }
    let short = folder.join("short.trace");
    let requests: Vec<RequestId> = (0..FEW).map(RequestId::from_index).collect();
    let options = WriterOptions::default();
    copy(&Trace::open(&whole)?, Some(&requests), &short, &options)?;
    Ok(short)
}

/// Returns why plans of this trace do not fit the installed server, if they do not.
pub fn is_foreign(trace: &Path) -> Option<String> {
    let trace = match Trace::open(trace) {
        Ok(trace) => trace,
        Err(error) => return Some(error.to_string()),
    };
    let server = trace
        .modules()
        .iter()
        .find(|module| module.path.ends_with("/mariadbd"));
    let Some(server) = server else {
        return Some("the trace names no mariadbd".into());
    };
    let bytes = std::fs::read(&server.path).unwrap_or_default();
    let here = object::File::parse(&*bytes).ok();
    let here = here
        .as_ref()
        .and_then(|file| file.build_id().ok().flatten());
    let here = here.map(|id| {
        id.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    });
    (here.as_deref() != Some(&*server.build_id)).then(|| {
        format!(
            "{} is not the program of the trace (build id {}): install that one, or record here",
            server.path, server.build_id
        )
    })
}
