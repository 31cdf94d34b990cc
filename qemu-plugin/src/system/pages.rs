// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines which file code comes from, by the contents of its page.
//!
//! The guest has the same files as the recorder, and their code is never written, so a page of code
//! equals a page of a file. This holds in any process, at any address and with any loader, which a
//! plugin could not query. Equal pages, e.g. of zeros, count as the expected page at their address.

use super::description::Code;
use super::half::is_kernel;
use corehop_wire::ring::Message;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::ops::Range;

const PAGE_BYTES: u64 = 4096;

/// The module name of the kernel, and the addresses of its code, which are used as file offsets.
const KERNEL: &str = "[kernel]";
const KERNEL_CODE: Range<u64> = 0xffff_ffff_8000_0000..0xffff_ffff_c000_0000;

/// The code of the guest's files, and where it was found.
#[derive(Default)]
pub(crate) struct Pages {
    code: Vec<Segment>,
    /// By the contents of a page: the code and the page in it.
    found: HashMap<u64, Vec<(usize, u64)>>,
    state: RandomState,
    met: Vec<Met>,
}

/// Code of a file.
struct Segment {
    path: String,
    /// File offset of its first page.
    file_offset: u64,
    bytes: u64,
}

/// Code that was found, and its addresses.
struct Met {
    range: Range<u64>,
    /// `None` for code without a file.
    segment: Option<usize>,
}

impl Pages {
    /// Reads the files; an unreadable file has no code.
    pub(crate) fn of(code: &[Code]) -> Pages {
        let mut pages = Pages::default();
        for Code {
            file_offset,
            bytes,
            path,
        } in code
        {
            let contents = read(path).unwrap_or_default();
            let first = file_offset / PAGE_BYTES * PAGE_BYTES;
            let end = (file_offset + bytes).next_multiple_of(PAGE_BYTES);
            let place = pages.code.len();
            for (number, offset) in (0..).zip((first..end).step_by(PAGE_BYTES as usize)) {
                let mut page = [0; PAGE_BYTES as usize];
                let rest = contents.get(offset as usize..).unwrap_or_default();
                let count = rest.len().min(page.len());
                page[..count].copy_from_slice(&rest[..count]);
                let hash = pages.state.hash_one(page);
                pages.found.entry(hash).or_default().push((place, number));
            }
            pages.code.push(Segment {
                path: path.clone(),
                file_offset: first,
                bytes: end - first,
            });
        }
        pages
    }

    /// Handles code at an address in a page with these contents. Returns the message for the
    /// recorder, if it is new.
    pub(crate) fn meet(&mut self, address: u64, page: &[u8]) -> Option<Message> {
        let start = address / PAGE_BYTES * PAGE_BYTES;
        let known = self.met.iter().rev();
        let known = known
            .clone()
            .find(|met| met.range.contains(&address))
            .map(|met| (met.segment, met.range.start));
        if is_kernel(address) {
            return match known {
                Some(_) => None,
                None => Some(self.tell(KERNEL_CODE, KERNEL_CODE.start, None, KERNEL)),
            };
        }
        let found = self.found.get(&self.state.hash_one(page));
        let found = found.map(Vec::as_slice).unwrap_or_default();
        let begins = |number: u64| start.wrapping_sub(number * PAGE_BYTES);
        let is_known =
            |&&(segment, number): &&(usize, u64)| known == Some((Some(segment), begins(number)));
        let of = found.iter().find(is_known).or(found.first()).copied();
        match of {
            Some(of) if is_known(&&of) => None,
            Some((segment, number)) => {
                let of = &self.code[segment];
                let range = begins(number)..begins(number).wrapping_add(of.bytes);
                let (offset, path) = (of.file_offset, of.path.clone());
                Some(self.tell(range, offset, Some(segment), &path))
            }
            None if known.is_some_and(|(segment, _)| segment.is_none()) => None,
            None => Some(self.tell(start..start + PAGE_BYTES, 0, None, "")),
        }
    }

    fn tell(
        &mut self,
        range: Range<u64>,
        file_offset: u64,
        segment: Option<usize>,
        path: &str,
    ) -> Message {
        let hidden = |met: &Met| range.start <= met.range.start && met.range.end <= range.end;
        self.met.retain(|met| !hidden(met));
        self.met.push(Met {
            range: range.clone(),
            segment,
        });
        Message::Mapping {
            process: std::process::id(),
            start: range.start,
            end: range.end,
            file_offset,
            path: path.into(),
        }
    }

    /// Returns the address of a file offset, if its code was last found around `address`.
    pub(crate) fn address_of(&self, address: u64, path: &str, file_offset: u64) -> Option<u64> {
        let met = self.met.iter().rev();
        let met = met.clone().find(|met| met.range.contains(&address))?;
        let segment = &self.code[met.segment?];
        let within = file_offset.checked_sub(segment.file_offset)?;
        (segment.path == path && within < segment.bytes).then(|| met.range.start + within)
    }
}

fn read(path: &str) -> std::io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    std::fs::File::open(path)?.read_to_end(&mut contents)?;
    Ok(contents)
}
