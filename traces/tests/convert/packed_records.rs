//! drmemtrace's records as bytes, and the compressions of trace files.

use std::io::Write;

/// `type`, `size`, `addr`.
pub type Record = (u16, u16, u64);

pub fn bytes(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, size, value) in records {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut packed = lz4_flex::frame::FrameEncoder::new(Vec::new());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub fn snappy(bytes: &[u8]) -> Vec<u8> {
    let mut packed = snap::write::FrameEncoder::new(Vec::new());
    packed.write_all(bytes).unwrap();
    packed.into_inner().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(6);
    let mut packed = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Packs as the program `zstd` does, with a checksum.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut packed = zstd::Encoder::new(Vec::new(), 3).unwrap();
    packed.include_checksum(true).unwrap();
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}
