// SPDX-License-Identifier: GPL-2.0-or-later
//! The mappings of this process, from /proc/self/maps.
//!
//! In user mode, guest addresses are addresses of the process, so the guest's mappings are among
//! QEMU's own. QEMU removes the permission to execute from the guest's mappings, and the permission
//! to write from pages with translated code.

use std::ops::Range;
use std::path::Path;

/// One line of /proc/self/maps.
pub(crate) struct Line {
    pub(crate) range: Range<u64>,
    pub(crate) writable: bool,
    /// Whether processes share writes to this mapping.
    pub(crate) shared: bool,
    pub(crate) file_offset: u64,
    /// Device and inode; the inode is 0 without a file or segment.
    pub(crate) identity: [u64; 2],
    /// Empty if no file is mapped.
    pub(crate) path: String,
}

/// Returns all lines, by ascending address; empty if the file cannot be read.
pub(crate) fn lines() -> Vec<Line> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    String::from_utf8_lossy(&maps)
        .lines()
        .filter_map(parse)
        .collect()
}

/// The kernel writes a newline of a path as `\012`, which may also be part of a path.
fn unescaped(path: &str) -> String {
    match path.contains(NEWLINE) && !Path::new(path).exists() {
        true => path.replace(NEWLINE, "\n"),
        false => path.to_owned(),
    }
}

const NEWLINE: &str = "\\012";

/// Parses `start-end permissions offset device inode   path`, see proc_pid_maps(5).
fn parse(line: &str) -> Option<Line> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let file_offset = hexadecimal(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let inode = fields.next()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_start();
    Some(Line {
        range: hexadecimal(start)?..hexadecimal(end)?,
        writable: permissions.get(1) == Some(&b'w'),
        shared: permissions.get(3) == Some(&b's'),
        file_offset,
        identity: [hexadecimal(major)? << 32 | hexadecimal(minor)?, inode],
        path: unescaped(if path.starts_with('/') { path } else { "" }),
    })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_mapped_and_how() {
        let line = "7f0a8000-7f0aa000 rw-s 00003000 fd:01 1234                 /dev/zero (deleted)";
        let line = parse(line).unwrap();
        assert_eq!(line.range, 0x7f0a_8000..0x7f0a_a000);
        assert!(line.writable && line.shared);
        assert_eq!(
            (line.file_offset, line.identity),
            (0x3000, [0xfd_0000_0001, 1234])
        );
        assert_eq!(line.path, "/dev/zero (deleted)");
    }

    #[test]
    fn memory_without_a_file_has_no_path_and_no_inode() {
        let line =
            parse("4000000000-4000001000 r--p 00000000 00:00 0                [heap]").unwrap();
        assert!(!line.writable && !line.shared);
        assert_eq!((line.identity, &*line.path), ([0, 0], ""));
    }

    #[test]
    fn a_path_may_have_a_newline_or_what_stands_for_one() {
        let folder = std::env::temp_dir().join(format!("maps-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let [newline, digits] = ["a\nb", "c\\012d"].map(|name| folder.join(name));
        for path in [&newline, &digits] {
            std::fs::write(path, "").unwrap();
            let printed = path.to_str().unwrap().replace('\n', NEWLINE);
            let line = format!("1000-2000 r-xp 00000000 fd:01 7     {printed}");
            assert_eq!(parse(&line).unwrap().path, path.to_str().unwrap());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn this_process_has_mappings() {
        let local = 0u8;
        let address = &raw const local as u64;
        let own = lines()
            .into_iter()
            .find(|line| line.range.contains(&address));
        assert!(own.is_some_and(|line| line.writable && !line.shared));
    }
}
