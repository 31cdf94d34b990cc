//! The numbers that give meaning to the parts of an ELF file.
//!
//! They are those of the System V gABI, its x86-64 supplement and the GNU additions to it.

// What a program header describes.
pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_DYNAMIC: u32 = 2;
pub(crate) const PT_INTERP: u32 = 3;
pub(crate) const PT_NOTE: u32 = 4;
pub(crate) const PT_PHDR: u32 = 6;
pub(crate) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

// What a loaded segment may be used for.
pub(crate) const PF_X: u32 = 1;
pub(crate) const PF_W: u32 = 2;
pub(crate) const PF_R: u32 = 4;

// Types of sections.
pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_DYNSYM: u32 = 11;

// Kinds of entries of the dynamic section.
pub(crate) const DT_NULL: u64 = 0;
pub(crate) const DT_NEEDED: u64 = 1;
pub(crate) const DT_PLTRELSZ: u64 = 2;
pub(crate) const DT_STRTAB: u64 = 5;
pub(crate) const DT_SYMTAB: u64 = 6;
pub(crate) const DT_RELA: u64 = 7;
pub(crate) const DT_RELASZ: u64 = 8;
pub(crate) const DT_STRSZ: u64 = 10;
pub(crate) const DT_INIT: u64 = 12;
pub(crate) const DT_FINI: u64 = 13;
pub(crate) const DT_SONAME: u64 = 14;
pub(crate) const DT_JMPREL: u64 = 23;
pub(crate) const DT_RELRSZ: u64 = 35;
pub(crate) const DT_RELR: u64 = 36;
pub(crate) const DT_FLAGS_1: u64 = 0x6fff_fffb;

// What the file is, and other numbers.
pub(crate) const DF_1_PIE: u64 = 0x0800_0000;
pub(crate) const ET_EXEC: u16 = 2;
pub(crate) const ET_DYN: u16 = 3;
pub(crate) const EM_X86_64: u16 = 62;
pub(crate) const NT_GNU_BUILD_ID: u32 = 3;
pub(crate) const R_X86_64_GLOB_DAT: u32 = 6;
pub(crate) const R_X86_64_JUMP_SLOT: u32 = 7;
pub(crate) const R_X86_64_IRELATIVE: u32 = 37;

/// Sizes of the file header, a program header, a section header, a dynamic entry and a symbol.
pub(crate) const EHDR_SIZE: u64 = 64;
pub(crate) const PHDR_SIZE: u64 = 56;
pub(crate) const SHDR_SIZE: u64 = 64;
pub(crate) const DYN_SIZE: u64 = 16;
pub(crate) const SYMBOL_SIZE: u64 = 24;
/// And of a relocation with an addend.
pub(crate) const RELA_SIZE: u64 = 24;
