//! The program of a drmemtrace: its modules, and the symbols of their files.
//!
//! A list of modules contains paths of the traced machine. A file is read from that path or from
//! next to the trace, to which DynamoRIO's `-alt_module_dir` may have pointed. Its entry point must
//! be that of the traced file, because nothing else in the list distinguishes builds.

use crate::terminal::console;
use corehop_symbolizer::Symbol;
use corehop_traces::convert::Error;
use corehop_traces::convert::drmemtrace::{Program, ProgramModule, ProgramSymbol};
use object::{Object, ObjectSegment};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Pages begin at multiples of this.
const PAGE_BYTES: u64 = 4096;

/// Returns what is known about the program of the trace at `path`.
pub fn beside(path: &Path) -> Result<Program, Error> {
    let mut program = Program::beside(path)?;
    let mut found = Vec::new();
    for (number, of) in program.modules.iter_mut().enumerate() {
        if let Some(file) = file_of(of, path)
            && identify(of, &file)
        {
            found.push((number, file));
        }
    }
    let files: Vec<&Path> = found.iter().map(|(_, file)| file.as_path()).collect();
    let symbols = corehop_symbolizer::of_each(&files);
    for ((number, _), symbols) in found.iter().zip(symbols) {
        match symbols {
            Ok(symbols) => name(&mut program.modules[*number], symbols),
            Err(error) => console::warn(&format!(
                "warning: functions are named by their addresses: {error}"
            )),
        }
    }
    Ok(program)
}

/// Returns the file of a module, if it is available.
fn file_of(of: &ProgramModule, trace: &Path) -> Option<PathBuf> {
    let path = Path::new(&of.module.path);
    let name = path.file_name()?;
    let folder = match trace.is_dir() {
        true => trace,
        false => trace.parent()?,
    };
    let beside = ["", "..", "binaries", "../binaries"];
    let beside = beside.map(|place| folder.join(place).join(name));
    let recorded = path.is_absolute().then(|| path.to_owned());
    // A file that is not regular, such as a pipe, could block its reader.
    let mut files = beside.into_iter().chain(recorded);
    files.find(|file| file.is_file())
}

/// Reads the module's build id and load bias from the file. Returns false if it is not the traced
/// file.
fn identify(of: &mut ProgramModule, file: &Path) -> bool {
    let known = || {
        let cache = object::ReadCache::new(File::open(file).ok()?);
        let object = object::File::parse(&cache).ok()?;
        let first = object.segments().map(|segment| segment.address()).min()?;
        let build_id = object.build_id().ok()?;
        let build_id: Option<String> =
            build_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect());
        let bias = of
            .module
            .start
            .wrapping_sub(first / PAGE_BYTES * PAGE_BYTES);
        Some((build_id, bias, object.entry()))
    };
    let Some((build_id, bias, entry)) = known() else {
        return false;
    };
    if of.entry != 0 && bias.wrapping_add(entry) != of.entry {
        console::warn(&format!(
            "warning: {} is another build than the one that was traced; its functions are named \
             by their places",
            file.display()
        ));
        return false;
    }
    if let Some(build_id) = build_id {
        of.module.build_id = build_id;
    }
    of.module.load_bias = bias;
    true
}

fn name(of: &mut ProgramModule, symbols: Vec<Symbol>) {
    let named = symbols.into_iter().map(|symbol| ProgramSymbol {
        offset: symbol.offset,
        size_bytes: symbol.size,
        symbol: symbol.symbol,
        name: symbol.name,
    });
    of.symbols = named.collect();
    of.symbols.sort_by_key(|symbol| symbol.offset);
}
