//! What patching needs to know about a binary before it changes a byte.
//!
//! The search uses it first, since a plan must not contain functions that cannot be hooked. So the
//! analysis is independent of patching and is made once per file. For each entry that cannot be
//! patched, it gives a reason that people can read.

use super::displaced::{Displaced, JUMP_SIZE, displaced_at_entry};
use super::exits::{Asked, ways_out};
use super::functions::{Function, Layout, layout};
use super::imported::{can_be_called_through, ends_otherwise};
use super::obstacle::Obstacle;
use super::refusal::Refusal;
use super::targets::{Landings, Target, collect};
use crate::Error;
use crate::elf::abi::PF_X;
use crate::elf::{Image, Stub, pointers};
use corehop_support::whole_file;
use std::path::Path;

/// The suffix of a stub's symbol, after that of its function.
pub const STUB_SUFFIX: &str = "@plt";

/// A binary's functions, and which of their entries may be patched.
///
/// ```no_run
/// let analysis = corehop_patcher::Analysis::of("/usr/sbin/mariadbd".as_ref())?;
/// for function in analysis.functions() {
///     if let Some(reason) = analysis.unsafe_reason(function.offset) {
///         println!("{:#x}: {reason}", function.offset);
///     }
/// }
/// # Ok::<(), corehop_patcher::Error>(())
/// ```
pub struct Analysis {
    pub(crate) image: Image,
    layout: Layout,
    targets: Vec<Target>,
    landings: Landings,
    /// Places in executable segments that the loader changes, in order.
    relocated: Vec<u64>,
    refusal: Option<Refusal>,
}

impl Analysis {
    /// Reads and analyses the file at `path`.
    ///
    /// # Errors
    /// [`Error::Read`] when it cannot be read, [`Error::Input`] when it is not a whole x86-64 ELF
    /// program or library.
    pub fn of(path: &Path) -> Result<Analysis, Error> {
        let bytes = whole_file::bytes(path).map_err(Error::reading(path))?;
        Analysis::from_bytes(bytes, path)
    }

    /// Analyses `bytes`; `path` only names the file in errors.
    ///
    /// # Errors
    /// [`Error::Input`] when they are not a whole x86-64 ELF program or library.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Analysis, Error> {
        let image = Image::new(bytes, path)?;
        let layout = layout(&image);
        let (targets, landings) = collect(&image, &layout);
        let code = |place: &u64| image.segment_at(*place).is_some_and(|s| s.is_loaded(PF_X));
        let mut relocated: Vec<u64> = pointers(&image).iter().map(|p| p.0).filter(code).collect();
        relocated.sort_unstable();
        let refusal = Refusal::of(&image, &layout);
        Ok(Analysis {
            image,
            layout,
            targets,
            landings,
            relocated,
            refusal,
        })
    }

    /// Functions in order of offset; cold fragments are not among them.
    pub fn functions(&self) -> &[Function] {
        &self.layout.functions
    }

    /// The stubs through which the file calls functions that it does not contain, in order of
    /// offset. These are its direct calls of libc and other libraries. Each stub is an entry like a
    /// function's, in a file that can be patched even if the function's file cannot.
    pub fn imports(&self) -> impl Iterator<Item = Function> {
        self.layout.stubs.iter().map(|(&offset, stub)| Function {
            offset,
            size_bytes: stub.end - offset,
            symbol: Some(format!("{}{STUB_SUFFIX}", stub.imported)),
        })
    }

    /// The stub at `offset`, if one is there.
    pub(crate) fn stub(&self, offset: u64) -> Option<&Stub> {
        self.layout.stubs.get(&offset)
    }

    /// GNU build id in lower-case hexadecimal.
    pub fn build_id(&self) -> Option<&str> {
        self.image.build_id.as_deref()
    }

    /// Whether the file is a shared library rather than a program.
    pub fn is_library(&self) -> bool {
        self.image.is_library()
    }

    /// The file name under which it is loaded: a library's own name, if it has one.
    pub fn name(&self) -> String {
        let file_name = self.image.path.file_name().unwrap_or_default();
        let own = self
            .image
            .soname()
            .filter(|name| self.is_library() && !name.contains('/'));
        own.map_or_else(|| file_name.to_string_lossy().into(), str::to_owned)
    }

    /// Why no function of this file can be patched, if none can.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// Why the function at virtual address `offset` cannot be patched; `None` when it can.
    pub fn unsafe_reason(&self, offset: u64) -> Option<String> {
        let refusal = self.refusal.map(|refusal| refusal.to_string());
        refusal.or_else(|| self.entry_reason(offset))
    }

    /// Why the entry at virtual address `offset` cannot be patched, ignoring obstacles of the whole
    /// file. For a library, this gives the functions that a program containing them could hook.
    pub fn entry_reason(&self, offset: u64) -> Option<String> {
        self.displaced(offset)
            .err()
            .map(|obstacle| obstacle.to_string())
    }

    /// Why a thread cannot go back when a call of the function at virtual address `offset` ends;
    /// `None` when it can, provided that the entry can be patched.
    pub fn return_reason(&self, offset: u64) -> Option<String> {
        let obstacle = match self.stub(offset) {
            Some(stub) => leads_back(stub).err(),
            None => self.ways_out(offset).err(),
        };
        obstacle.map(|obstacle| obstacle.to_string())
    }

    /// The instructions that hooks displace at all returns that end a call of the function at
    /// `offset`, or why there can be no such hooks.
    pub(crate) fn ways_out(&self, offset: u64) -> Result<Vec<Displaced>, Obstacle> {
        let asked = Asked {
            image: &self.image,
            layout: &self.layout,
            landings: &self.landings,
            entry: &|entry| self.displaced(entry),
        };
        let found = ways_out(&asked, offset)?;
        let changed = found
            .iter()
            .find_map(|displaced| self.relocation_in(displaced));
        changed.map_or(Ok(found), Err)
    }

    /// The instructions that a hook at `offset` displaces, or why there can be none.
    pub(crate) fn displaced(&self, offset: u64) -> Result<Displaced, Obstacle> {
        if self.layout.resolvers.contains(&offset) {
            return Err(Obstacle::Resolver);
        }
        let displaced = displaced_at_entry(&self.image, &self.layout, &self.targets, offset)?;
        match self.relocation_in(&displaced) {
            Some(reason) => Err(reason),
            None => Ok(displaced),
        }
    }

    /// The reason if a hook would change bytes that the loader changes.
    fn relocation_in(&self, displaced: &Displaced) -> Option<Obstacle> {
        // A relocated word may begin up to seven bytes before the site.
        let first = displaced.site.saturating_sub(7);
        let end = displaced.site + JUMP_SIZE + 14;
        let next = self.relocated.partition_point(|&place| place < first);
        let place = self.relocated.get(next).filter(|&&place| place < end)?;
        Some(Obstacle::Relocated(*place))
    }
}

/// Whether the runtime can call the stub's function so that it returns to the runtime.
pub(super) fn leads_back(stub: &Stub) -> Result<(), Obstacle> {
    match &stub.imported {
        imported if can_be_called_through(imported) => Ok(()),
        imported if ends_otherwise(imported) => Err(Obstacle::EndsOtherwise),
        _ => Err(Obstacle::MayTakeStack),
    }
}
