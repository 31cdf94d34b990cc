//! Why bytes are not an ELF file, or not a patched one, that corehop can read.

use super::manifest::VERSION;

/// What is wrong with a file, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("not an ELF file")]
    OtherFormat,
    #[error("a script: name the program that runs it, and then the script: {0}")]
    Script(String),
    #[error("cut short within the ELF header: copy the file again")]
    FileHeaderCut,
    #[error("a 32-bit file: corehop patches 64-bit x86 only")]
    Of32Bits,
    #[error("not little-endian 64-bit: corehop patches 64-bit x86 only")]
    OtherByteOrder,
    #[error("built for another processor (ELF machine {0}): corehop patches 64-bit x86 only")]
    OtherMachine(u16),
    #[error("neither a program nor a shared library")]
    OtherKind,
    #[error("{count} program headers of {size} bytes: not a loadable file")]
    ProgramHeaders { count: u16, size: u16 },
    #[error("cut short within the program headers: copy the file again")]
    ProgramHeadersCut,
    #[error(
        "cut short: segment {index} reaches beyond the {size_bytes} bytes there are: \
         copy the file again"
    )]
    SegmentCut { index: u64, size_bytes: usize },
    #[error("segment {0} lies beyond the address space: a damaged file")]
    SegmentBeyond(u64),
    #[error("segment {0} overlaps one before it: a damaged file")]
    SegmentOverlaps(u64),
    #[error("cut short: the section headers lie beyond its end: copy the file again")]
    SectionHeadersCut,
    #[error("not patched by corehop: it has no manifest")]
    NoManifest,
    #[error("its manifest is damaged: its checksum is not that of its text")]
    ManifestChecksum,
    #[error("its manifest is damaged: {0}")]
    ManifestText(#[from] serde_json::Error),
    #[error(
        "its manifest has version {0}, but this corehop reads version {VERSION}: \
         use the corehop that patched it"
    )]
    ManifestVersion(u32),
}
