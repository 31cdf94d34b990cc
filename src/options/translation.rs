//! The options of address translation: `--tlb` and `--huge-pages`.

use crate::failure::{Exit, Failure};
use clap::Args;
use corehop_simulator::{Machine, PageSize, PageSizes};
use corehop_traces::{Index, Trace};

/// The options of address translation. By default, addresses are not translated.
#[derive(Args, Default)]
#[command(next_help_heading = "Address translation")]
pub struct TranslationOptions {
    /// Also simulate TLBs and page walks, which read page tables through the caches
    ///
    /// The machine's [translation] has their sizes (docs/reference/machines.md). All figures of the
    /// caches then include the loads of page walks. It takes longer: one pass on one thread for
    /// each machine and plan.
    #[arg(long)]
    pub tlb: bool,
    /// Suppose huge pages here: all, code, or a range of addresses such as 0x7f0000-0x7fffff
    ///
    /// Pages have 2 MiB there, or 1 GiB with =1G, such as code=1G. All others have 4 KiB. A huge
    /// page that is there in part is there as a whole. `code` is the code of all modules.
    #[arg(
        long,
        value_name = "REGION",
        value_delimiter = ',',
        value_parser = region,
        requires = "tlb",
        hide_short_help = true
    )]
    huge_pages: Vec<Region>,
}

/// The location and size of large pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    place: Place,
    size: PageSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    All,
    Code,
    /// First and last address.
    Range(u64, u64),
}

/// The text is not a valid region.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{part}' is neither all, code nor a range of addresses such as 0x7f0000000000-0x7f00001fffff, \
     perhaps with =2M or =1G"
)]
struct NoRegion {
    part: String,
}

fn region(part: &str) -> Result<Region, NoRegion> {
    let none = || NoRegion { part: part.into() };
    let (place, size) = part.split_once('=').unwrap_or((part, "2M"));
    let size = match size {
        "2M" => PageSize::Large,
        "1G" => PageSize::Huge,
        _ => return Err(none()),
    };
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let range = || {
        let (first, last) = place.split_once('-')?;
        let (first, last) = (address(first)?, address(last)?);
        (first <= last).then_some(Place::Range(first, last))
    };
    let place = match place {
        "all" => Place::All,
        "code" => Place::Code,
        _ => range().ok_or_else(none)?,
    };
    Ok(Region { place, size })
}

impl TranslationOptions {
    /// Refuses machines without a description of address translation.
    ///
    /// # Errors
    /// The first such machine.
    pub fn check(&self, machines: &[Machine]) -> Result<(), Failure> {
        let silent = machines.iter().find(|of| of.translation.is_none());
        match silent.filter(|_| self.tlb) {
            Some(machine) => {
                let message = format!("machine {} has no TLBs", machine.name);
                let remedy = "add [translation] to its file (docs/reference/machines.md), or name \
                              another machine";
                Err(Failure::new(Exit::Input, message).remedy(remedy))
            }
            None => Ok(()),
        }
    }

    /// Returns the page sizes of a trace, if addresses are translated.
    ///
    /// # Errors
    /// If the trace is indexed by physical addresses.
    pub fn page_sizes(&self, trace: &Trace) -> Result<Option<PageSizes>, Failure> {
        if !self.tlb {
            return Ok(None);
        }
        if trace.index() == Index::Physical {
            let message = "TLBs translate virtual addresses, and --index physical leaves none";
            return Err(Failure::new(Exit::Usage, message).remedy("leave --index out"));
        }
        let mut sizes = PageSizes::default();
        for region in &self.huge_pages {
            let modules = trace.modules().iter();
            let code = modules.filter(|module| module.start < module.end);
            let places: Vec<(u64, u64)> = match region.place {
                Place::All => vec![(0, u64::MAX)],
                Place::Range(first, last) => vec![(first, last)],
                Place::Code => code.map(|module| (module.start, module.end - 1)).collect(),
            };
            for place in places {
                sizes = sizes.at_least(place, region.size);
            }
        }
        Ok(Some(sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::{PageSize, Place, Region, region};

    #[test]
    fn regions_have_a_place_and_perhaps_a_size() {
        let read = |text| region(text).ok().map(|region| (region.place, region.size));
        assert_eq!(read("all"), Some((Place::All, PageSize::Large)));
        assert_eq!(read("code=1G"), Some((Place::Code, PageSize::Huge)));
        let range = Place::Range(0x1000, 0x1fff);
        assert_eq!(read("0x1000-0x1fff=2M"), Some((range, PageSize::Large)));
        for text in [
            "",
            "heap",
            "0x2-0x1",
            "1-2",
            "0x1",
            "all=4K",
            "all=",
            "0x1-0x1ffffffffffffffff",
        ] {
            assert_eq!(region(text).ok(), None::<Region>, "{text}");
        }
    }
}
