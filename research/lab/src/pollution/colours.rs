//! Page colours of the L2s, and a pollute buffer that uses some of them.
//!
//! The lines of a page map to 64 consecutive sets, so the set-index bits above the low six are the
//! same for all of them: the page's *colour*. The placement of pages in physical memory determines
//! their colours, and thus the part of an L2 that they may use. Soares ("Operating System
//! Techniques for Reducing Processor State Pollution", thesis, Toronto 2012, chapter 3) reserves a
//! sixteenth of the colours for pages whose lines are not reused, so that they evict no others: the
//! pollute buffer. Only the L2s use it: L1s and the L3 place lines by address.
//!
//! The buffer has the last colours. A page that is confined to it gets the colour of its number
//! modulo their count. Any other page keeps its own, unless that is one of the buffer's: such
//! pages, counted from address zero on, get the other colours round-robin.

use crate::pollution::error::TooFewColours;
use corehop_simulator::{Machine, PAGE_BYTES, PageMap};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The divisor for the share of colours in a pollute buffer: a sixteenth, but at least one colour.
const BUFFER_PART: u64 = 16;

/// The page colours of a machine's L2s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colours {
    /// Number of colours: a power of two.
    pub all: u64,
    /// Number of colours of a pollute buffer, which are the last ones.
    pub of_buffer: u64,
}

/// Pages that are confined to a part of each L2, while all others use the rest. Without pages there
/// is no buffer, and lines are placed by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolluteBuffer {
    colours: Colours,
    pages: Arc<BTreeSet<u64>>,
}

impl Colours {
    /// Computes the colours of a machine.
    ///
    /// # Errors
    /// [`TooFewColours`] if a page uses all sets of an L2.
    pub fn of(machine: &Machine) -> Result<Colours, TooFewColours> {
        let sets = machine.l2.sets();
        let all = sets * 64 / PAGE_BYTES;
        if all < 2 {
            return Err(TooFewColours {
                machine: machine.name.clone(),
                sets,
            });
        }
        Ok(Colours {
            all,
            of_buffer: (all / BUFFER_PART).max(1),
        })
    }

    /// Returns the colour of a page by its number.
    fn own(self, page: u64) -> u64 {
        page % self.all
    }

    /// Returns the number of colours outside a buffer.
    fn ordinary(self) -> u64 {
        self.all - self.of_buffer
    }

    /// Returns the colour of a confined page.
    fn confined(self, page: u64) -> u64 {
        self.ordinary() + page % self.of_buffer
    }

    /// Returns the colour of an unconfined page, if others are confined.
    fn unconfined(self, page: u64) -> u64 {
        match self.own(page).checked_sub(self.ordinary()) {
            None => self.own(page),
            Some(place) => (page / self.all * self.of_buffer + place) % self.ordinary(),
        }
    }
}

impl PolluteBuffer {
    /// Creates the buffer in each L2 of `machine` to which the pages of these numbers (addresses
    /// divided by [`PAGE_BYTES`]) are confined.
    ///
    /// # Errors
    /// Those of [`Colours::of`].
    pub fn new(
        machine: &Machine,
        pages: impl IntoIterator<Item = u64>,
    ) -> Result<PolluteBuffer, TooFewColours> {
        Ok(PolluteBuffer {
            colours: Colours::of(machine)?,
            pages: Arc::new(pages.into_iter().collect()),
        })
    }

    /// Returns the colours of its L2s.
    pub fn colours(&self) -> Colours {
        self.colours
    }

    /// Returns the numbers of the confined pages, ascending.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = u64> {
        self.pages.iter().copied()
    }

    /// Returns whether the page of this number is confined.
    pub fn confines(&self, page: u64) -> bool {
        self.pages.contains(&page)
    }

    /// Returns the colour of the page of this number.
    pub fn colour(&self, page: u64) -> u64 {
        match (self.pages.is_empty(), self.confines(page)) {
            (true, _) => self.colours.own(page),
            (false, true) => self.colours.confined(page),
            (false, false) => self.colours.unconfined(page),
        }
    }

    /// Returns the page map of each L2: a colour is represented by the first page that has it.
    pub fn page_map(&self) -> PageMap {
        let buffer = self.clone();
        PageMap::new(move |page| buffer.colour(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_simulator::Level;

    /// A machine whose L2 has this many sets of one way.
    fn with_sets(sets: u64) -> Machine {
        let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        Machine {
            name: "coloured".into(),
            l2: Level::new(sets * 64, 1, 1),
            ..machine
        }
    }

    #[test]
    fn the_buffer_is_a_sixteenth_of_the_colours_but_at_least_one() {
        let colours = |sets| Colours::of(&with_sets(sets)).map(|of| (of.all, of.of_buffer));
        assert_eq!(colours(2048).unwrap(), (32, 2));
        assert_eq!(colours(1024).unwrap(), (16, 1));
        assert_eq!(colours(512).unwrap(), (8, 1));
        assert_eq!(colours(128).unwrap(), (2, 1));
        assert_eq!(
            colours(64).unwrap_err().to_string(),
            "a page takes all 64 sets of an L2 of machine coloured, so none can be kept for \
             polluting pages: replay on a machine whose L2 has 128 sets or more, such as \
             xeon-e5-2620-v4"
        );
    }

    #[test]
    fn pages_keep_their_colours_but_where_the_buffer_is() {
        let buffer = |pages: &[u64]| {
            let buffer = PolluteBuffer::new(&with_sets(2048), pages.iter().copied()).unwrap();
            move |page| buffer.colour(page)
        };
        let none = buffer(&[]);
        assert!((0..100).all(|page| none(page) == page % 32));
        let some = buffer(&[3, 4, 31, 70]);
        assert_eq!([3, 4, 31, 70].map(&some), [31, 30, 31, 30]);
        assert_eq!([0, 29, 32, 71].map(&some), [0, 29, 0, 7]);
        // Displaced, round-robin: 30, 62, 63, 94, 95 and, thirty displaced pages later, the first
        // again.
        assert_eq!([30, 62, 63, 94, 95].map(&some), [0, 2, 3, 4, 5]);
        assert_eq!([30 + 15 * 32, 31 + 15 * 32].map(&some), [0, 1]);
    }
}
