//! Columns: many values of one type in sequence, compressed together.
//!
//! A value resembles neighboring values of the same kind more than the other fields of its record.
//! Columns therefore compress better than records.

use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::column;
use bytemuck::Pod;
use zstd::bulk::{Compressor, Decompressor};

#[cfg(target_endian = "big")]
compile_error!("columns are little-endian and are read in place");

/// A compressed column that can be stored in a message.
pub struct Packed {
    bytes: u32,
    frame: Vec<u8>,
}

impl Packed {
    /// Stores the column in a message.
    pub fn store(&self, mut column: column::Builder<'_>) {
        column.set_bytes(self.bytes);
        column.set_frame(&self.frame);
    }
}

/// Bytes of a message for each column besides its frame, with room to spare.
const OVERHEAD: usize = 64;

/// Returns the bytes that columns need in a message.
pub fn room<'c>(columns: impl IntoIterator<Item = &'c Packed>) -> usize {
    let columns = columns.into_iter();
    columns.map(|column| column.frame.len() + OVERHEAD).sum()
}

/// Compresses `values`.
pub fn pack<T: Pod>(compressor: &mut Compressor<'_>, values: &[T]) -> std::io::Result<Packed> {
    let raw: &[u8] = bytemuck::cast_slice(values);
    Ok(Packed {
        bytes: u32::try_from(raw.len()).map_err(std::io::Error::other)?,
        frame: compressor.compress(raw)?,
    })
}

/// Decompresses a column with exactly `count` values into `values`.
///
/// # Errors
/// What is wrong with the column `name`. Memory is allocated only for `count` values, so the caller
/// limits it.
pub fn unpack<T: Pod>(
    decompressor: &mut Decompressor<'_>,
    column: capnp::Result<column::Reader<'_>>,
    name: &str,
    count: usize,
    values: &mut Vec<T>,
) -> Result<(), Violation> {
    let column = column?;
    let frame = column.get_frame()?;
    let expected = count * size_of::<T>();
    let broken = |detail: String| Rule::Columns.broken(format!("column {name} {detail}"));
    if column.get_bytes() as usize != expected {
        let bytes = column.get_bytes();
        return Err(broken(format!("claims {bytes} bytes, not {expected}")));
    }
    values.resize(count, T::zeroed());
    let room: &mut [u8] = bytemuck::cast_slice_mut(values);
    let written = decompressor.decompress_to_buffer(frame, room);
    match written {
        Ok(written) if written == expected => Ok(()),
        Ok(written) => Err(broken(format!("holds {written} bytes, not {expected}"))),
        Err(error) => Err(broken(format!("does not decompress: {error}"))),
    }
}
