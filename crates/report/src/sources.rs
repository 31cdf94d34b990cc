//! Source lines of the functions in a report, if the binaries are present and have them.
//!
//! A trace has no source lines. They are looked up when a report is created, in the very build that
//! was recorded, and only for the functions shown. Without that build, a report has none.

use corehop_partitioner::attribution::Explanation;
use corehop_symbolizer::SourceLines;
use corehop_traces::FunctionId;
use std::collections::BTreeMap;
use std::path::Path;

/// `file:line` by the function's name.
pub struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Looks up the plan's functions and the first `top` of those that change most.
    pub fn of(explained: &Explanation<'_>, top: usize) -> Sources {
        let functions = explained.trace.functions();
        let mut first = BTreeMap::<&str, FunctionId>::new();
        for (number, function) in functions.iter().enumerate() {
            let of = FunctionId::from_index(number);
            first.entry(&function.name).or_insert(of);
        }
        let movers = explained.movers();
        let movers = movers.iter().take(top);
        let moved = movers.filter_map(|mover| first.get(mover.name.as_str()).copied());
        let planned = explained.placed.iter().map(|placed| placed.function);
        let mut lines = SourceLines::default();
        let line = |of: FunctionId| {
            let function = &functions[of.index()];
            let module = &explained.trace.modules()[function.module as usize];
            let path = Path::new(&module.path);
            let source = lines.of(path, &module.build_id, function.offset)?;
            let place = format!("{}:{}", source.file, source.line);
            Some((function.name.clone(), place))
        };
        Sources(planned.chain(moved).filter_map(line).collect())
    }

    /// Returns all known source lines, by name.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Returns the file's name, its folder and the line, which distinguish files without long
    /// paths.
    pub fn short(&self, name: &str) -> Option<String> {
        let place = self.0.get(name)?;
        let parts: Vec<&str> = place.rsplitn(3, '/').take(2).collect();
        Some(parts.into_iter().rev().collect::<Vec<_>>().join("/"))
    }
}
