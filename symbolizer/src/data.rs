//! The variables and sections of a binary: its memory layout, except code.
//!
//! Names come from the symbol tables of the file and of its debug file. Thread-local variables have
//! no fixed address and are omitted.

use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SectionFlags, SymbolKind, elf,
};
use std::cmp::Reverse;
use std::fs::File;
use std::path::Path;

/// A variable with a fixed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSymbol {
    /// Virtual address in the ELF file.
    pub offset: u64,
    /// Size in bytes, at least 1.
    pub size_bytes: u64,
    /// The symbol demangled.
    pub name: String,
}

/// A section that is mapped into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Virtual address in the ELF file.
    pub offset: u64,
    /// Size in bytes, at least 1.
    pub size_bytes: u64,
    /// Its name, such as `.rodata`.
    pub name: String,
}

/// The memory layout of a binary, in virtual addresses of the ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataLayout {
    /// First address of all segments.
    pub start: u64,
    /// End of all segments, exclusive.
    pub end: u64,
    /// By ascending offset, larger ones first; one per offset and size.
    pub symbols: Vec<DataSymbol>,
    /// By ascending offset.
    pub sections: Vec<Section>,
}

impl DataLayout {
    /// Returns the layout of the ELF file at `path`, with additional symbols from its debug file;
    /// `None` for an unreadable file.
    pub(crate) fn of(path: &Path, debug_file: &Path) -> Option<DataLayout> {
        let mut layout = DataLayout::default();
        layout.read(path, true)?;
        if debug_file != path {
            layout.read(debug_file, false);
        }
        let key = |symbol: &DataSymbol| (symbol.offset, Reverse(symbol.size_bytes));
        // Of several names, the shortest has the fewest underscores and versions.
        layout.symbols.sort_by(|one, other| {
            let length = |symbol: &DataSymbol| (symbol.name.len(), symbol.name.clone());
            (key(one), length(one)).cmp(&(key(other), length(other)))
        });
        layout.symbols.dedup_by_key(|symbol| key(symbol));
        layout.sections.sort_by_key(|section| section.offset);
        Some(layout)
    }

    /// Adds the data of a file; segments and sections of a debug file are ignored.
    fn read(&mut self, path: &Path, is_program: bool) -> Option<()> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        if is_program {
            let segments = || file.segments().filter(|segment| segment.size() > 0);
            let ends = segments().map(|segment| segment.address().saturating_add(segment.size()));
            self.start = segments().map(|segment| segment.address()).min()?;
            self.end = ends.max()?;
            let sections = file.sections().filter(|section| {
                let is_in_memory = match section.flags() {
                    // A section of thread-local variables has no addresses.
                    SectionFlags::Elf { sh_flags, .. } => {
                        sh_flags.contains(elf::SHF_ALLOC) && !sh_flags.contains(elf::SHF_TLS)
                    }
                    _ => false,
                };
                is_in_memory && section.size() > 0
            });
            self.sections.extend(sections.filter_map(|section| {
                Some(Section {
                    offset: section.address(),
                    size_bytes: section.size(),
                    name: section.name().ok()?.to_owned(),
                })
            }));
        }
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let variables = symbols.filter(|symbol| {
            symbol.kind() == SymbolKind::Data && symbol.is_definition() && symbol.size() > 0
        });
        self.symbols.extend(variables.filter_map(|symbol| {
            Some(DataSymbol {
                offset: symbol.address(),
                size_bytes: symbol.size(),
                name: crate::demangled(symbol.name().ok()?),
            })
        }));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceLines;
    use std::process::Command;

    const SOURCE: &str = "int stock[64];\nstatic int prices[16] = {1};\n_Thread_local int mine;\n\
                          int main(void) {\n  return stock[prices[0]] + mine;\n}\n";

    fn run(command: &mut Command) {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    #[test]
    fn variables_have_names_and_sections() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shop.c"), SOURCE).unwrap();
        let program = folder.path().join("shop");
        let mut gcc = Command::new("gcc");
        let gcc = gcc.current_dir(folder.path());
        run(gcc.args(["-Wl,--build-id=0x0a1b2c3d", "shop.c", "-o", "shop"]));
        let layout = SourceLines::default().data(&program, "0a1b2c3d").unwrap();
        let of = |name: &str| {
            let mut all = layout.symbols.iter();
            all.find(|symbol| symbol.name == name).cloned()
        };
        let section = |symbol: &DataSymbol| {
            let holds = |section: &&Section| {
                (section.offset..section.offset + section.size_bytes).contains(&symbol.offset)
            };
            layout.sections.iter().find(holds).unwrap().name.clone()
        };
        let [stock, prices] = [of("stock"), of("prices")].map(Option::unwrap);
        assert_eq!((stock.size_bytes, prices.size_bytes), (256, 64));
        assert_eq!([section(&stock), section(&prices)], [".bss", ".data"]);
        assert_eq!(of("mine"), None);
        assert!(layout.start <= prices.offset && stock.offset + 256 <= layout.end);
        assert_eq!(SourceLines::default().data(&program, "ffffffff"), None);

        run(Command::new("strip").arg(&program));
        let stripped = SourceLines::default().data(&program, "0a1b2c3d").unwrap();
        assert!(stripped.symbols.iter().all(|symbol| symbol.name != "stock"));
        assert_eq!(stripped.sections, layout.sections);
    }
}
