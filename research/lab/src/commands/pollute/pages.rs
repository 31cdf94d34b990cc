//! The value of `--pages`: addresses on the command line, or in a file.

use corehop::failure::{Exit, Failure};
use corehop_simulator::PAGE_BYTES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The pages that `--pages` selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageList {
    /// The result of a search.
    Auto,
    /// These pages, by number.
    Listed(BTreeSet<u64>),
    /// The pages in a file.
    File(PathBuf),
}

/// A word that is not the address of a page.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoPage {
    #[error(
        "'{0}' is no address of a page: write it in hexadecimal, such as 0x7f3a5000, and several \
         with commas between them, or `auto`, or @FILE"
    )]
    NoAddress(String),
    #[error(
        "{address:#x} is inside a page of {PAGE_BYTES} bytes: write {page:#x}, where it begins"
    )]
    Unaligned { address: u64, page: u64 },
}

/// Parses the value of `--pages`.
pub fn page_list(text: &str) -> Result<PageList, NoPage> {
    if text == "auto" {
        return Ok(PageList::Auto);
    }
    match text.strip_prefix('@') {
        Some(path) if !path.is_empty() => Ok(PageList::File(path.into())),
        _ => text
            .split(',')
            .map(page)
            .collect::<Result<_, _>>()
            .map(PageList::Listed),
    }
}

/// Returns the number of the page at an address.
fn page(text: &str) -> Result<u64, NoPage> {
    let text = text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let address = u64::from_str_radix(digits, 16).ok().filter(|_| is_number);
    let address = address.ok_or_else(|| NoPage::NoAddress(text.into()))?;
    if !address.is_multiple_of(PAGE_BYTES) {
        return Err(NoPage::Unaligned {
            address,
            page: address - address % PAGE_BYTES,
        });
    }
    Ok(address / PAGE_BYTES)
}

/// Reads the pages in a file: one on each line, before any comma or space. Empty lines and lines
/// that begin with `#` are skipped. In a table that `--output` wrote, recognised by its heading, so
/// are pages that were not confined.
pub fn read(path: &Path) -> Result<BTreeSet<u64>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{}: cannot read the pages: {error}", path.display());
        Failure::new(Exit::Input, message).remedy("name a file with the address of a page a line")
    })?;
    let is_table = text.starts_with(super::csv::HEADING);
    let mut pages = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()).skip(usize::from(is_table)) {
        let mut fields = line.split([',', ' ', '\t']);
        let first = fields.next().unwrap_or_default();
        let is_passed_by = is_table && fields.next() == Some("0");
        if first.is_empty() || first.starts_with('#') || is_passed_by {
            continue;
        }
        let found = page(first).map_err(|error| {
            let message = format!("{}:{number}: {error}", path.display());
            Failure::new(Exit::Input, message).explained()
        })?;
        pages.insert(found);
    }
    if pages.is_empty() {
        let message = format!("{}: it names no page", path.display());
        let remedy = "write the address of a page a line there, or leave --pages out";
        return Err(Failure::new(Exit::Input, message).remedy(remedy));
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_by_their_addresses() {
        let listed = |pages: &[u64]| Ok(PageList::Listed(pages.iter().copied().collect()));
        assert_eq!(page_list("0x5000"), listed(&[5]));
        assert_eq!(page_list("7f000,0x5000, 7f000"), listed(&[5, 0x7f]));
        assert_eq!(page_list("auto"), Ok(PageList::Auto));
        assert_eq!(page_list("@pages"), Ok(PageList::File("pages".into())));
    }

    #[test]
    fn what_is_no_page_is_refused_in_words() {
        let refused = |text: &str| page_list(text).unwrap_err().to_string();
        for wrong in ["", "@", "heap", "5000,", "+5000", "0x", "10000000000000000"] {
            let said = refused(wrong);
            assert!(
                said.contains("is no address of a page: write it in"),
                "{said}"
            );
        }
        assert_eq!(
            refused("0x5040"),
            "0x5040 is inside a page of 4096 bytes: write 0x5000, where it begins"
        );
    }
}
