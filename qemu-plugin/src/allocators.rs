// SPDX-License-Identifier: GPL-2.0-or-later
//! The allocator functions of the server, by address: those of libc, C++, jemalloc and tcmalloc,
//! and those that the user names.
//!
//! They are found by the symbols of each file whose code is mapped. `sites` holds the addresses
//! behind their calls. A call ends a block, so a function that returns there begins a block, and
//! that block is translated after the first call of the site: code in front of it has reached the
//! allocator before.

use corehop_wire::ring::Message;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Where a function gets the size of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// From this argument, counted from 0.
    Argument(u8),
    /// From the product of two.
    Product(u8, u8),
}

/// What a function does to objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Returns a new object.
    Returns(Size),
    /// Stores the address of a new object where its first argument points, and returns 0.
    Stores(Size),
    /// Ends the object at its first argument, and returns another.
    Moves(Size),
    /// Ends the object at its first argument.
    Ends,
    /// Returns a new object, unless the caller is the same library, as for a thread's stack.
    Maps(Size),
    /// Ends as many bytes from its first argument on as its second, with the same exception.
    Unmaps,
}

/// An allocator function of this process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name for people.
    pub(crate) name: String,
    pub(crate) effect: Effect,
    /// Whether the user names it, perhaps with a wrong argument.
    pub(crate) is_named: bool,
    /// The code of its file.
    pub(crate) module: Range<u64>,
}

/// Returns the effect of a function by its symbol, and its name; `None` if it is no allocator.
fn known(symbol: &str) -> Option<(Effect, &str)> {
    use Effect::{Ends, Maps, Moves, Returns, Stores, Unmaps};
    use Size::{Argument, Product};
    let of = |effect| Some((effect, symbol));
    // Itanium C++ ABI, 5.1.5: nw and na are operator new, dl and da operator delete.
    for (prefix, effect, name) in [
        ("_Znwm", Returns(Argument(0)), "operator new"),
        ("_Znam", Returns(Argument(0)), "operator new[]"),
        ("_ZdlPv", Ends, "operator delete"),
        ("_ZdaPv", Ends, "operator delete[]"),
    ] {
        if symbol.starts_with(prefix) {
            return Some((effect, name));
        }
    }
    let prefixes = ["je_", "tc_"];
    let plain = prefixes.iter().find_map(|one| symbol.strip_prefix(one));
    match plain.unwrap_or(symbol) {
        "malloc" | "valloc" | "pvalloc" | "mallocx" => of(Returns(Argument(0))),
        "calloc" => of(Returns(Product(0, 1))),
        "memalign" | "aligned_alloc" => of(Returns(Argument(1))),
        "posix_memalign" => of(Stores(Argument(2))),
        "realloc" | "rallocx" => of(Moves(Argument(1))),
        "reallocarray" => of(Moves(Product(1, 2))),
        "free" | "cfree" | "dallocx" | "sdallocx" => of(Ends),
        "mmap" | "mmap64" => of(Maps(Argument(1))),
        "munmap" => of(Unmaps),
        "mremap" => of(Moves(Argument(2))),
        "new" | "newarray" | "new_nothrow" | "newarray_nothrow" if plain.is_some() => {
            of(Returns(Argument(0)))
        }
        "delete" | "deletearray" | "delete_sized" if plain.is_some() => of(Ends),
        _ => None,
    }
}

/// The allocators found so far.
#[derive(Default)]
pub(crate) struct Allocators {
    /// The user's functions, and which argument is the size.
    named: HashMap<String, u8>,
    /// By guest address. They live as long as the process, because translated code refers to them.
    by_address: HashMap<u64, &'static Function>,
    sites: HashSet<u64>,
}

impl Allocators {
    /// Parses the user's functions: `NAME:ARGUMENT`, with slashes between, arguments from 1.
    pub(crate) fn of(named: &str) -> Allocators {
        let one = |text: &str| {
            let (name, argument) = text.rsplit_once(':')?;
            let argument: u8 = argument.parse().ok()?;
            Some((name.to_owned(), argument.checked_sub(1)?))
        };
        Allocators {
            named: named.split('/').filter_map(one).collect(),
            ..Allocators::default()
        }
    }

    /// Looks for allocators in a file of which code is mapped.
    pub(crate) fn look_in(&mut self, mapping: &Message) {
        let Message::Mapping {
            start,
            end,
            file_offset,
            path,
            ..
        } = mapping
        else {
            return;
        };
        if path.is_empty() {
            return;
        }
        let Ok(bytes) = std::fs::read(path) else {
            return;
        };
        let mut found = BTreeMap::<u64, (Effect, &str)>::new();
        for (offset, symbol) in functions_of(&bytes) {
            let Some((effect, name)) = self.effect(symbol) else {
                continue;
            };
            let within = offset.checked_sub(*file_offset);
            let address = within.map(|within| start + within);
            let Some(address) = address.filter(|address| address < end) else {
                continue;
            };
            // Of several names for one function, such as mmap and mmap64, the shortest counts.
            let known = found.entry(address).or_insert((effect, name));
            if (name.len(), name) < (known.1.len(), known.1) {
                *known = (effect, name);
            }
        }
        for (address, (effect, name)) in found {
            self.by_address.entry(address).or_insert_with(|| {
                Box::leak(Box::new(Function {
                    name: name.into(),
                    effect,
                    is_named: self.named.contains_key(name),
                    module: *start..*end,
                }))
            });
        }
    }

    fn effect<'s>(&self, symbol: &'s str) -> Option<(Effect, &'s str)> {
        match self.named.get(symbol) {
            Some(&argument) => Some((Effect::Returns(Size::Argument(argument)), symbol)),
            None => known(symbol),
        }
    }

    /// Returns the allocator whose entry is at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&'static Function> {
        self.by_address.get(&address).copied()
    }

    /// Notes that an allocator returns to this address.
    pub(crate) fn add_site(&mut self, address: u64) {
        self.sites.insert(address);
    }

    /// Returns whether an allocator has been called in front of an address.
    pub(crate) fn is_site(&self, address: u64) -> bool {
        self.sites.contains(&address)
    }

    /// Forgets the allocators in a range that other code may have from now on.
    pub(crate) fn forget(&mut self, range: &Range<u64>) {
        self.by_address
            .retain(|address, _| !range.contains(address));
    }
}

/// Returns the functions of an ELF file: the offset of each in the file, and its symbol without a
/// version.
fn functions_of(bytes: &[u8]) -> Vec<(u64, &str)> {
    let Ok(file) = ElfFile64::<LittleEndian>::parse(bytes) else {
        return Vec::new();
    };
    let loaded = file.elf_program_headers().iter();
    let loaded: Vec<[u64; 3]> = loaded
        .filter(|header| header.p_type(LittleEndian) == object::elf::PT_LOAD)
        .map(|header| {
            let endian = LittleEndian;
            [
                header.p_vaddr(endian),
                header.p_filesz(endian),
                header.p_offset(endian),
            ]
        })
        .collect();
    let offset = |address: u64| {
        loaded.iter().find_map(|&[start, size, offset]| {
            let within = address.checked_sub(start)?;
            (within < size).then(|| offset.wrapping_add(within))
        })
    };
    let symbols = file.dynamic_symbols().chain(file.symbols());
    let defined = symbols.filter(|symbol| {
        symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.address() != 0
    });
    defined
        .filter_map(|symbol| Some((offset(symbol.address())?, symbol.name().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_known_by_their_symbols() {
        let size = |argument| Size::Argument(argument);
        for (symbol, effect, name) in [
            ("malloc", Effect::Returns(size(0)), "malloc"),
            ("je_malloc", Effect::Returns(size(0)), "je_malloc"),
            (
                "tc_calloc",
                Effect::Returns(Size::Product(0, 1)),
                "tc_calloc",
            ),
            ("aligned_alloc", Effect::Returns(size(1)), "aligned_alloc"),
            ("posix_memalign", Effect::Stores(size(2)), "posix_memalign"),
            ("realloc", Effect::Moves(size(1)), "realloc"),
            (
                "_ZnamSt11align_val_tRKSt9nothrow_t",
                Effect::Returns(size(0)),
                "operator new[]",
            ),
            ("_ZdlPvm", Effect::Ends, "operator delete"),
            ("tc_delete", Effect::Ends, "tc_delete"),
        ] {
            assert_eq!(known(symbol), Some((effect, name)));
        }
        for symbol in ["new", "delete", "xmalloc", "malloc_usable_size", "je_"] {
            assert_eq!(known(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn a_named_function_has_its_size_in_the_named_argument() {
        let allocators = Allocators::of("zmalloc:1/pool_get:2/broken/x:0");
        let effect = |name| allocators.effect(name).map(|(effect, _)| effect);
        let returns = |argument| Some(Effect::Returns(Size::Argument(argument)));
        assert_eq!(effect("zmalloc"), returns(0));
        assert_eq!(effect("pool_get"), returns(1));
        assert_eq!([effect("broken"), effect("x")], [None, None]);
        assert_eq!(effect("calloc"), Some(Effect::Returns(Size::Product(0, 1))));
    }

    #[test]
    fn functions_are_found_in_a_file_and_not_in_other_bytes() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(!functions_of(&own).is_empty());
        assert_eq!(functions_of(b"#!/bin/sh\n"), []);
    }
}
