//! One function of a binary, with its demangled name.
//!
//! C++ names are demangled by the symbolizer, Rust names here.

use serde::Deserialize;

/// One function.
#[derive(Clone, Debug, Deserialize)]
pub struct Symbol {
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Size in bytes; 0 when unknown.
    pub size: u64,
    /// Linker symbol, or a generated name if the file has none.
    pub symbol: String,
    /// The symbol demangled.
    pub name: String,
    /// Other linker symbols for the same entry.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// Demangles a linker symbol that the symbolizer has not processed.
pub fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let name = cpp_demangle::Symbol::new(symbol).ok();
    let name = name.and_then(|name| name.demangle().ok());
    name.unwrap_or_else(|| symbol.to_owned())
}

impl Symbol {
    /// Demangles a Rust name, without the hash of the legacy scheme, which is of no use to readers.
    pub(crate) fn readable(mut self) -> Symbol {
        if self.name == self.symbol
            && let Ok(name) = rustc_demangle::try_demangle(&self.symbol)
        {
            self.name = format!("{name:#}");
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols from RFC 2603 and rustc's documentation; C++ is demangled by the symbolizer.
    #[test]
    fn names_of_both_rust_schemes_are_readable_and_others_stay() {
        let name_of = |symbol: &str, name: &str| {
            let (symbol, name) = (symbol.to_owned(), name.to_owned());
            let symbol = Symbol {
                offset: 0,
                size: 0,
                symbol,
                name,
                aliases: Vec::new(),
            };
            symbol.readable().name
        };
        for (symbol, name) in [
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            (
                "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h89abcdef01234567E",
                "core::ptr::drop_in_place<alloc::string::String>",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RNvgarbage", "_RNvgarbage"),
            ("_R", "_R"),
            ("main", "main"),
            ("_Zgarbage", "_Zgarbage"),
        ] {
            assert_eq!(name_of(symbol, symbol), name);
        }
        assert_eq!(name_of("_ZN3foo3barEi", "foo::bar(int)"), "foo::bar(int)");
    }

    #[test]
    fn a_symbol_alone_is_readable_too() {
        for (symbol, name) in [
            ("_ZN3foo3barEi", "foo::bar(int)"),
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Zgarbage", "_Zgarbage"),
            ("main", "main"),
        ] {
            assert_eq!(demangled(symbol), name);
        }
    }
}
