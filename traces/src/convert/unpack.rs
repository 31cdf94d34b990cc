//! Decompresses a file's bytes.
//!
//! DynamoRIO writes traces uncompressed, as gzip, LZ4 frames or Snappy frames, and as zip archives
//! of consecutive chunks. ChampSim's traces are published as xz or gzip, and people pack files as
//! zstd. The format is detected from the first bytes, not from the name. Data is decompressed while
//! it is read, so a trace may be larger than memory. An archive's table of contents is at its end,
//! so an archive from a pipe is first copied to a temporary file.

use crate::convert::error::{Error, Fault, FilePosition};
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// A callback that receives the number of bytes read since its last call; its error ends the
/// import.
pub type Watch<'w> = dyn Fn(u64) -> io::Result<()> + 'w;

const GZIP: &[u8] = &[0x1f, 0x8b];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const SNAPPY: &[u8] = &[0xff, 0x06, 0x00, 0x00, b's', b'N', b'a', b'P', b'p', b'Y'];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0x00];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const ZIP: &[u8] = b"PK\x03\x04";
/// The signature of an empty archive.
const EMPTY_ZIP: &[u8] = b"PK\x05\x06";

/// Both ends of the signature of bzip2, which is not read; between them is a digit.
const BZIP2: (&[u8], &[u8]) = (b"BZh", b"1AY&SY");

/// Maximum memory for xz, because damaged data may request too much. `xz -9` requests 65 MiB; a
/// file with a larger dictionary requests its size.
const MOST_XZ_KIB: u32 = 512 << 10;

/// Size of the buffer of decompressed bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// Number of bytes needed to detect the format.
const SIGN_BYTES: usize = SNAPPY.len();

/// The decompressed bytes of a file.
pub(in crate::convert) struct Unpacked<'w> {
    bytes: Box<dyn Read + 'w>,
    packing: &'static str,
    /// Set if the file itself could not be read, so that its contents are not at fault.
    unreadable: Rc<Cell<bool>>,
}

impl<'w> Unpacked<'w> {
    /// Decompresses `input`, which is read once from its beginning to its end.
    pub(in crate::convert) fn of_stream(input: impl Read + 'w) -> io::Result<Unpacked<'w>> {
        let unreadable = Rc::new(Cell::new(false));
        let watched = Watched {
            input,
            watch: &|_| Ok(()),
            unreadable: Rc::clone(&unreadable),
        };
        let (sign, rest) = begin(watched)?;
        match is_zip(&sign) {
            true => Unpacked::of_archive(spool(rest)?, &|_| Ok(()), unreadable),
            false => Unpacked::of_bytes(&sign, rest, unreadable),
        }
    }

    /// Decompresses a file.
    pub(in crate::convert) fn of_file(
        file: File,
        watch: &'w Watch<'w>,
    ) -> io::Result<Unpacked<'w>> {
        let unreadable = Rc::new(Cell::new(false));
        let is_seekable = file.metadata()?.is_file();
        let watched = Watched {
            input: file.try_clone()?,
            watch,
            unreadable: Rc::clone(&unreadable),
        };
        let (sign, rest) = begin(watched)?;
        match (is_zip(&sign), is_seekable) {
            (false, _) => Unpacked::of_bytes(&sign, rest, unreadable),
            (true, true) => Unpacked::of_archive(file, watch, unreadable),
            (true, false) => Unpacked::of_archive(spool(rest)?, &|_| Ok(()), unreadable),
        }
    }

    fn of_bytes(
        sign: &[u8],
        bytes: impl BufRead + 'w,
        unreadable: Rc<Cell<bool>>,
    ) -> io::Result<Unpacked<'w>> {
        let (packing, bytes): (_, Box<dyn Read + 'w>) = if sign.starts_with(GZIP) {
            (
                "gzip",
                Box::new(Members(Some(flate2::bufread::GzDecoder::new(bytes)))),
            )
        } else if sign.starts_with(LZ4) {
            (
                "LZ4",
                Box::new(Frames(lz4_flex::frame::FrameDecoder::new(bytes))),
            )
        } else if sign.starts_with(SNAPPY) {
            ("Snappy", Box::new(snap::read::FrameDecoder::new(bytes)))
        } else if sign.starts_with(XZ) {
            ("xz", Box::new(xz(bytes)))
        } else if sign.starts_with(ZSTD) {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
            ("zstd", Box::new(decoder))
        } else if sign.starts_with(BZIP2.0) && sign.ends_with(BZIP2.1) {
            let text = "bzip2 data, which is not read: decompress it by bunzip2 first";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        } else {
            ("", Box::new(bytes))
        };
        Ok(Unpacked {
            bytes,
            packing,
            unreadable,
        })
    }

    fn of_archive(
        file: File,
        watch: &'w Watch<'w>,
        unreadable: Rc<Cell<bool>>,
    ) -> io::Result<Unpacked<'w>> {
        let watched = Watched {
            input: file,
            watch,
            unreadable: Rc::clone(&unreadable),
        };
        let chunks = Chunks::of(watched)?;
        Ok(Unpacked {
            bytes: Box::new(chunks),
            packing: "zip",
            unreadable,
        })
    }

    /// Returns the error for reading that ended in `source`, at this place.
    pub(in crate::convert) fn error(
        &self,
        source: io::Error,
        name: &str,
        place: FilePosition,
    ) -> Error {
        match self.damage(&source) {
            Some(problem) => Fault::Damage(problem).at(name, place),
            None => Error::Read {
                name: name.into(),
                source,
            },
        }
    }

    /// Describes the damage if reading ended in this error because of the file's contents; `None`
    /// if the file could not be read.
    fn damage(&self, error: &io::Error) -> Option<String> {
        let is_damaged = !self.unreadable.get() && !self.packing.is_empty();
        is_damaged.then(|| match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("the {} data is cut off", self.packing),
            _ => format!("the {} data is damaged: {error}", self.packing),
        })
    }
}

/// Returns the decompressed bytes of an input with this name, or why there are none. `place` is
/// that of the first record.
pub(in crate::convert) fn opened<'w>(
    bytes: io::Result<Unpacked<'w>>,
    name: &str,
    place: FilePosition,
) -> Result<BufReader<Unpacked<'w>>, Error> {
    let bytes = bytes.map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => {
            Fault::Damage(format!("the zip data is damaged: {source}")).at(name, place)
        }
        io::ErrorKind::Unsupported => Fault::Problem(source.to_string()).at(name, place),
        _ => Error::Read {
            name: name.into(),
            source,
        },
    })?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, bytes))
}

/// Reads the next record, which is at `place`; `None` at the end.
pub(in crate::convert) fn record<const BYTES: usize>(
    bytes: &mut BufReader<Unpacked<'_>>,
    name: &str,
    place: FilePosition,
) -> Result<Option<[u8; BYTES]>, Error> {
    let mut record = [0; BYTES];
    let mut have = 0;
    while have < BYTES {
        match bytes.read(&mut record[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => {
                let problem =
                    format!("the file ends within a record, after {have} of {BYTES} bytes");
                return Err(Fault::Damage(problem).at(name, place));
            }
            Ok(more) => have += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(bytes.get_ref().error(source, name, place)),
        }
    }
    Ok(Some(record))
}

impl Read for Unpacked<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(into)
    }
}

/// Decompresses consecutive xz streams.
fn xz<R: BufRead>(bytes: R) -> lzma_rust2::XzReader<R> {
    lzma_rust2::XzReader::new_mem_limit(bytes, true, MOST_XZ_KIB)
}

fn is_zip(sign: &[u8]) -> bool {
    sign.starts_with(ZIP) || sign.starts_with(EMPTY_ZIP)
}

/// An input whose first bytes were read, followed by the rest.
type Whole<R> = Chain<Cursor<Vec<u8>>, BufReader<R>>;

/// Reads the first bytes; returns them, and the whole input.
fn begin<R: Read>(mut input: R) -> io::Result<(Vec<u8>, Whole<R>)> {
    let mut sign = Vec::new();
    input
        .by_ref()
        .take(SIGN_BYTES as u64)
        .read_to_end(&mut sign)?;
    let rest = BufReader::with_capacity(RECOMMENDED_BUFFER_SIZE, input);
    Ok((sign.clone(), Cursor::new(sign).chain(rest)))
}

/// Copies the input to a temporary file.
fn spool(mut input: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    file.flush()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// A file that reports how much of it was read, and whether it could be read.
struct Watched<'w, R> {
    input: R,
    watch: &'w Watch<'w>,
    unreadable: Rc<Cell<bool>>,
}

impl<R> Watched<'_, R> {
    fn told(&self, read: io::Result<usize>) -> io::Result<usize> {
        let told = read.and_then(|read| (self.watch)(read as u64).map(|()| read));
        let is_over = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        told.inspect_err(|error| self.unreadable.set(is_over(error)))
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into);
        self.told(read)
    }
}

impl ReaderAt for Watched<'_, File> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.told(std::os::unix::fs::FileExt::read_at(
            &self.input,
            into,
            offset,
        ))
    }
}

/// Consecutive LZ4 frames.
struct Frames<R: Read>(lz4_flex::frame::FrameDecoder<R>);

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.0.read(into)?;
            if read > 0 || into.is_empty() || self.0.get_mut().fill_buf()?.is_empty() {
                return Ok(read);
            }
        }
    }
}

/// Consecutive gzip members. Zeros may follow the last, as for gzip itself; `None` behind it.
struct Members<R>(Option<flate2::bufread::GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let rest = self.0.take().map(flate2::bufread::GzDecoder::into_inner);
            self.0 = rest.map(next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Returns the member that begins in the rest of a file; `None` if only zeros follow.
fn next_member<R: BufRead>(mut rest: R) -> io::Result<Option<flate2::bufread::GzDecoder<R>>> {
    loop {
        let bytes = rest.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let (next, is_over) = (bytes.get(zeros).copied(), bytes.is_empty());
        rest.consume(zeros);
        match next {
            Some(first) if first == GZIP[0] => {
                return Ok(Some(flate2::bufread::GzDecoder::new(rest)));
            }
            Some(_) => return Err(io::Error::other("other bytes follow its end")),
            None if is_over => return Ok(None),
            None => {}
        }
    }
}

/// A part of an archive, from its table of contents.
struct Chunk {
    name: String,
    start: u64,
    end: u64,
    is_deflated: bool,
    checksum: u32,
}

/// The parts of an archive, in sequence.
struct Chunks<'w> {
    file: Rc<Watched<'w, File>>,
    left: std::vec::IntoIter<Chunk>,
    open: Option<OpenChunk<'w>>,
}

struct OpenChunk<'w> {
    name: String,
    bytes: Box<dyn Read + 'w>,
    sum: flate2::Crc,
    checksum: u32,
}

impl<'w> Chunks<'w> {
    fn of(file: Watched<'w, File>) -> io::Result<Chunks<'w>> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let end = file.input.metadata()?.len();
        let locator = rawzip::ZipLocator::new();
        let archive = locator.locate_in_reader(file, &mut buffer, end);
        let archive = archive.map_err(|(_, error)| damaged(error))?;
        let chunks = contents(&archive, &mut buffer)?;
        Ok(Chunks {
            file: Rc::new(archive.into_inner()),
            left: chunks.into_iter(),
            open: None,
        })
    }

    fn open(&self, chunk: Chunk) -> OpenChunk<'w> {
        let part = Part {
            file: Rc::clone(&self.file),
            at: chunk.start,
            end: chunk.end,
        };
        let part = BufReader::with_capacity(RECOMMENDED_BUFFER_SIZE, part);
        OpenChunk {
            name: chunk.name,
            bytes: match chunk.is_deflated {
                true => Box::new(flate2::bufread::DeflateDecoder::new(part)),
                false => Box::new(part),
            },
            sum: flate2::Crc::new(),
            checksum: chunk.checksum,
        }
    }
}

/// Returns the parts of an archive in the order of its table of contents.
fn contents(archive: &ZipArchive<Watched<'_, File>>, buffer: &mut [u8]) -> io::Result<Vec<Chunk>> {
    let mut chunks = Vec::new();
    let mut entries = archive.entries(buffer);
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        if entry.is_dir() {
            continue;
        }
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let is_deflated = match entry.compression_method() {
            CompressionMethod::DEFLATE => true,
            CompressionMethod::STORE => false,
            other => {
                let text = format!("{name} is packed by the method {other:?}, which is not read");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        };
        let checksum = entry.crc32();
        let found = archive.get_entry(entry.wayfinder()).map_err(damaged)?;
        let (start, end) = found.compressed_data_range();
        chunks.push(Chunk {
            name,
            start,
            end,
            is_deflated,
            checksum,
        });
    }
    Ok(chunks)
}

fn damaged(error: rawzip::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Read for Chunks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(open) = &mut self.open else {
                let Some(chunk) = self.left.next() else {
                    return Ok(0);
                };
                self.open = Some(self.open(chunk));
                continue;
            };
            let read = open
                .bytes
                .read(into)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", open.name)))?;
            open.sum.update(&into[..read]);
            if read > 0 {
                return Ok(read);
            }
            if open.sum.sum() != open.checksum {
                let text = format!("{}: its checksum is another", open.name);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            self.open = None;
        }
    }
}

/// A range of bytes of a file.
struct Part<'w> {
    file: Rc<Watched<'w, File>>,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let most = into.len().min(left);
        if most == 0 {
            return Ok(0);
        }
        let read = self.file.read_at(&mut into[..most], self.at)?;
        self.at += read as u64;
        match read {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}
