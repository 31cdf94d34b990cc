//! The function at whose entry the requests of a trace begin.

use corehop_plan::Request;
use corehop_traces::function_name::{ends_in, is_same, module_and_name};
use corehop_traces::{Function, FunctionId, Trace};
use std::path::Path;

/// Returns the function at which the trace's requests begin, by the recorder's search rules. `None`
/// if requests were marked in another way, or if the name does not match exactly one function.
#[must_use]
pub fn request_function(trace: &Trace) -> Option<FunctionId> {
    let text = trace.header().request_at.as_str();
    let modules = trace.modules();
    let file_name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    let is_named = |module: &str, path: &str| file_name(module) == file_name(path);
    let is_in = |function: &Function, module: Option<&str>| {
        let path = &modules[function.module as usize].path;
        // The recording may have resolved a symbolic link.
        let is_known = |module: &&str| modules.iter().any(|known| is_named(module, &known.path));
        module
            .filter(is_known)
            .is_none_or(|module| is_named(module, path))
    };
    let recorded = (0..).map(FunctionId).zip(trace.functions());
    let recorded = recorded.filter(|(function, _)| trace.call_meant(*function).is_none());
    let recorded: Vec<(FunctionId, &Function)> = recorded.collect();
    let only = |is_match: &dyn Fn(&Function) -> bool| {
        let mut found = recorded.iter().filter(|(_, f)| is_match(f));
        let (function, _) = found.next()?;
        found.next().is_none().then_some(*function)
    };
    match text.rsplit_once("+0x") {
        Some((module, offset)) => {
            let offset = u64::from_str_radix(offset, 16).ok()?;
            only(&|f| f.offset == offset && is_in(f, Some(module)))
        }
        None => {
            let (module, name) = match module_and_name(text) {
                Some((module, name)) => (Some(module), name),
                None => (None, text),
            };
            only(&|f| f.symbol == name && is_in(f, module))
                .or_else(|| only(&|f| is_same(&f.name, name) && is_in(f, module)))
                .or_else(|| only(&|f| ends_in(&f.name, name) && is_in(f, module)))
        }
    }
}

/// Returns that function in the form of plans.
pub(crate) fn request(trace: &Trace) -> Option<Request> {
    let function = &trace.functions()[request_function(trace)?.index()];
    let module = &trace.modules()[function.module as usize];
    Some(Request {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
    })
}
