//! Names of code as people read them.

use corehop_simulator::detail::CodeOwner;
use corehop_traces::Trace;

/// Of a name, in characters.
const LONGEST: usize = 60;

/// As much of a name as tells it from others; those of templates have hardly an end.
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Whose code it is.
pub fn of_owner(trace: &Trace, owner: CodeOwner) -> String {
    match owner {
        CodeOwner::Function(function) => trace.functions()[function as usize].name.clone(),
        CodeOwner::Module(module) => format!("[{}]", trace.modules()[module as usize].path),
        CodeOwner::Elsewhere => "[outside all modules]".into(),
    }
}
