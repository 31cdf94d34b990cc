//! One function of a binary, and its name as people read it.
//!
//! C++'s names come demangled from the symbolizer; Rust's are demangled here.

use serde::Deserialize;

/// One function.
#[derive(Clone, Debug, Deserialize)]
pub struct Symbol {
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Size in bytes; 0 when unknown.
    pub size: u64,
    /// Linker symbol, or a made-up name where the file has none.
    pub symbol: String,
    /// The symbol demangled.
    pub name: String,
    /// Other linker symbols of the same entry.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// A linker symbol of which nothing else is known, as people read it: for what the symbolizer was
/// not asked about.
pub fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let name = cpp_demangle::Symbol::new(symbol).ok();
    let name = name.and_then(|name| name.demangle().ok());
    name.unwrap_or_else(|| symbol.to_owned())
}

impl Symbol {
    /// With its name demangled, where it is one of Rust's; without the hash of the older scheme,
    /// which says nothing to people.
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

    /// Symbols from RFC 2603 and rustc's documentation; C++'s are the symbolizer's own business.
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
