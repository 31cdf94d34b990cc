//! The modules and functions of a traced program, from files next to a trace.
//!
//! `modules.log` has a line for each mapped part of a file, with its addresses; `funclist.log` has
//! one for each function that was traced by name. Callers that have the files themselves add their
//! symbols, so that functions have names.

use crate::Module;
use crate::convert::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of bytes read from a file next to a trace.
const MOST_BYTES: u64 = 1 << 28;

/// The modules and functions that are known before a trace is read.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The modules, by start address.
    pub modules: Vec<ProgramModule>,
    /// Addresses and names of functions that were traced by name, by address.
    pub listed: Vec<(u64, String)>,
}

/// A file that the program has mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramModule {
    /// The module as stored in the trace. The load bias assumes a file that begins at virtual
    /// address 0, unless the list of modules has another one. The build id matches no file.
    pub module: Module,
    /// The program's entry point in the file's header; 0 if there is none.
    pub entry: u64,
    /// Its functions, by offset.
    pub symbols: Vec<ProgramSymbol>,
}

/// A function of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramSymbol {
    /// Virtual address in the file.
    pub offset: u64,
    /// Size in bytes; 0 when unknown.
    pub size_bytes: u64,
    /// Linker symbol.
    pub symbol: String,
    /// The demangled symbol.
    pub name: String,
}

/// Returns a build id for a file whose build id is unknown. It matches no file and differs between
/// names. So plans can refer to functions of the file, but no file is patched because of it.
pub(in crate::convert) fn unknown_build(path: &str) -> String {
    format!("00000000{:08x}", crc32c::crc32c(path.as_bytes()))
}

impl ProgramModule {
    pub(in crate::convert) fn function_at(&self, offset: u64) -> Option<&ProgramSymbol> {
        let of = |symbol: &ProgramSymbol| symbol.offset;
        let found = self.symbols.binary_search_by_key(&offset, of).ok()?;
        Some(&self.symbols[found])
    }
}

impl Program {
    /// Reads the files next to the trace at `path`; empty if there are none.
    ///
    /// # Errors
    /// [`Error::Read`] for a file that exists and cannot be read; [`Error::Broken`] for one with an
    /// invalid format.
    pub fn beside(path: &Path) -> Result<Program, Error> {
        let mut program = Program::default();
        if let Some((name, text)) = find(path, "modules.log")? {
            program.modules = modules(&text).map_err(|line| broken(name, line))?;
        }
        if let Some((name, text)) = find(path, "funclist.log")? {
            program.listed = functions(&text).map_err(|line| broken(name, line))?;
        }
        Ok(program)
    }

    /// Returns the addresses of the functions with this name or symbol, ascending.
    pub fn addresses_of(&self, name: &str) -> Vec<u64> {
        let listed = self.listed.iter().filter(|(_, known)| known == name);
        let mut addresses: Vec<u64> = listed.map(|&(address, _)| address).collect();
        for of in &self.modules {
            let named = of
                .symbols
                .iter()
                .filter(|symbol| symbol.name == name || symbol.symbol == name);
            let bias = of.module.load_bias;
            addresses.extend(named.map(|symbol| bias.wrapping_add(symbol.offset)));
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Returns the module at an address, and its index in the list.
    pub(in crate::convert) fn module_at(&self, address: u64) -> Option<(usize, &ProgramModule)> {
        let begun = |of: &ProgramModule| of.module.start <= address;
        let number = self.modules.partition_point(begun).checked_sub(1)?;
        let of = &self.modules[number];
        (address < of.module.end).then_some((number, of))
    }

    /// Returns the name of a function that was traced by name.
    pub(in crate::convert) fn listed(&self, address: u64) -> Option<&str> {
        let found = self
            .listed
            .binary_search_by_key(&address, |&(at, _)| at)
            .ok()?;
        Some(&self.listed[found].1)
    }
}

/// Reads a file next to a trace: in its folder, in the folder for raw records, or next to either.
fn find(trace: &Path, name: &str) -> Result<Option<(PathBuf, String)>, Error> {
    let folder = match trace.is_dir() {
        true => trace,
        false => trace.parent().unwrap_or(Path::new("")),
    };
    let above = folder.join("..");
    let mut places = vec![
        folder.join(name),
        folder.join("raw").join(name),
        folder.join("trace").join(name),
    ];
    // A folder `trace` is next to one for raw records.
    if folder.file_name().is_some_and(|last| last == "trace") {
        places.extend([above.join(name), above.join("raw").join(name)]);
    }
    let Some(path) = places.into_iter().find(|path| path.is_file()) else {
        return Ok(None);
    };
    let read = || {
        use std::io::Read;
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > MOST_BYTES {
            true => Err(io::Error::other("more than 256 MiB")),
            false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    };
    match read() {
        Ok(text) => Ok(Some((path, text))),
        Err(source) => Err(Error::Read {
            name: path.display().to_string(),
            source,
        }),
    }
}

fn broken(path: PathBuf, (line, problem): (u64, &'static str)) -> Error {
    Error::Broken {
        name: path.display().to_string(),
        place: crate::convert::FilePosition::Line(line),
        problem: problem.into(),
    }
}

/// The number of an invalid line, from 1, and the problem.
type WrongLine = (u64, &'static str);

/// A mapped part of a file.
struct Mapped<'t> {
    /// Number of the first part of the same file.
    containing: &'t str,
    start: u64,
    end: u64,
    entry: u64,
    bias: u64,
    path: &'t str,
}

/// Parses the modules in `modules.log`.
fn modules(text: &str) -> Result<Vec<ProgramModule>, WrongLine> {
    let mut lines = (1..).zip(text.lines());
    let begins = |line: Option<(u64, &str)>, with: &str| {
        line.is_some_and(|(_, line)| line.starts_with(with))
    };
    if !begins(lines.next(), "Module Table: version ") {
        return Err((
            1,
            "not the first line of a list of modules, \"Module Table: version\"",
        ));
    }
    let columns = lines.next();
    if !begins(columns, "Columns: ") {
        return Err((2, "no names of columns"));
    }
    let columns = columns.map_or("", |(_, line)| line);
    let columns: Vec<&str> = columns["Columns: ".len()..]
        .split(',')
        .map(str::trim)
        .collect();
    let column = |name: &str| columns.iter().position(|of| *of == name);
    let known = ["containing_id", "start", "end", "entry"].map(&column);
    let [Some(containing), Some(start), Some(end), Some(entry)] = known else {
        return Err((2, "a list of modules without their addresses"));
    };
    let preferred = column("preferred_base");
    let mut modules: Vec<(String, ProgramModule)> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let value = |column: usize| hexadecimal(fields.get(column)?);
        let mapped = || {
            let first = value(start)?;
            Some(Mapped {
                containing: fields.get(containing)?,
                start: first,
                end: value(end)?,
                entry: value(entry)?,
                bias: first.wrapping_sub(preferred.map_or(Some(0), value)?),
                path: fields.last()?,
            })
        };
        match mapped() {
            Some(part) if part.start <= part.end => add(&mut modules, &part),
            _ => return Err((number, "no addresses of a module")),
        }
    }
    let mut modules: Vec<ProgramModule> = modules.into_iter().map(|(_, of)| of).collect();
    modules.sort_by_key(|of| of.module.start);
    Ok(modules)
}

/// Adds a part of a file to the modules, by the number of its first part.
fn add(modules: &mut Vec<(String, ProgramModule)>, part: &Mapped<'_>) {
    let same = |(number, of): &&mut (String, ProgramModule)| {
        number == part.containing && of.module.path == part.path
    };
    if let Some((_, of)) = modules.iter_mut().rev().take(1).find(same) {
        of.module.start = of.module.start.min(part.start);
        of.module.end = of.module.end.max(part.end);
        return;
    }
    let module = Module {
        path: part.path.into(),
        build_id: unknown_build(part.path),
        load_bias: part.bias,
        start: part.start,
        end: part.end,
    };
    let module = ProgramModule {
        module,
        entry: part.entry,
        symbols: Vec::new(),
    };
    modules.push((part.containing.into(), module));
}

/// Parses the functions in `funclist.log`: number, arguments, address, possibly more, name.
fn functions(text: &str) -> Result<Vec<(u64, String)>, WrongLine> {
    let mut functions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let mut fields = line.split(',').map(str::trim);
        let address = fields.nth(2).and_then(hexadecimal);
        let (Some(address), Some(name)) = (address, fields.next_back()) else {
            return Err((
                number,
                "no number, arguments, address and name of a function",
            ));
        };
        // The name is prefixed with the library.
        let name = name.rsplit_once('!').map_or(name, |(_, name)| name);
        functions.push((address, name.replace('\0', "")));
    }
    functions.sort();
    functions.dedup_by_key(|(address, _)| *address);
    Ok(functions)
}

/// Parses a hexadecimal number, with or without `0x`.
fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a list of modules with these lines, each `id, containing_id, start, end, entry,
    /// offset, preferred_base, path`.
    fn listed(lines: &[&str]) -> String {
        let columns = "id, containing_id, start, end, entry, offset, preferred_base, path";
        let count = lines.len();
        let lines = lines.join("\n");
        format!("Module Table: version 5, count {count}\nColumns: {columns}\n{lines}\n")
    }

    #[test]
    fn parts_of_a_file_are_one_module_with_its_bias() {
        let bank = |id, start, end, base| {
            let start = format!("0x7f000000{start:04x}, 0x7f000000{end:04x}");
            format!("{id}, 0, {start}, 0x7f0000001040, {base:x}, {base:#x}, /usr/bin/bank")
        };
        let text = listed(&[
            &bank(0, 0x1000, 0x2000, 0x1000),
            &bank(1, 0x2000, 0x4000, 0x2000),
            "2, 2, 0x400000, 0x401000, 0x0, 0, 0x400000, [vdso]",
        ]);
        let modules = modules(&text).unwrap();
        let told = |of: &ProgramModule| {
            let module = &of.module;
            (
                module.path.clone(),
                module.load_bias,
                module.start,
                module.end,
            )
        };
        let told: Vec<_> = modules.iter().map(told).collect();
        let bank = (
            "/usr/bin/bank".into(),
            0x7f00_0000_0000,
            0x7f00_0000_1000,
            0x7f00_0000_4000,
        );
        assert_eq!(told, [("[vdso]".into(), 0, 0x40_0000, 0x40_1000), bank]);
        let program = Program {
            modules,
            ..Program::default()
        };
        let at = |address| program.module_at(address).map(|(number, _)| number);
        assert_eq!(
            [at(0x7f00_0000_3fff), at(0x7f00_0000_4000), at(0x3f_ffff)],
            [Some(1), None, None]
        );
    }

    #[test]
    fn a_list_of_modules_without_their_bases_begins_at_0() {
        let text = "Module Table: version 4, count 1\n\
                    Columns: id, containing_id, start, end, entry, offset, (custom fields), path\n\
                    0, 0, 0x1000, 0x2000, 0x1040, 0, v#1,0, /usr/lib/x, y.so";
        let [of] = &modules(text).unwrap()[..] else {
            panic!("one module");
        };
        assert_eq!((of.module.load_bias, of.entry), (0x1000, 0x1040));
    }

    #[test]
    fn lists_that_are_none_are_refused_with_their_line() {
        let wrong = |text: &str| modules(text).unwrap_err().0;
        assert_eq!(wrong(""), 1);
        assert_eq!(wrong("Module Table: version 5\nColumns: id"), 2);
        let columns = "Module Table: version 5\nColumns: id, containing_id, start, end, entry\n";
        assert_eq!(wrong(&format!("{columns}0, 0, 0x20, 0x10, 0x0\n")), 3);
        assert_eq!(wrong(&format!("{columns}\n0, 0, x, 0x10, 0x0\n")), 4);
        assert_eq!(functions("0,1,0x10,a!b\n1,2,main\n").unwrap_err().0, 2);
        let listed = functions("1,2,0x20,noret,bank!pay\n\n0,1,0x10,main\n").unwrap();
        assert_eq!(listed, [(0x10, "main".into()), (0x20, "pay".into())]);
    }
}
