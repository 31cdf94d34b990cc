//! All caches of a machine, for the lines of one residue.
//!
//! Who simulates a stream of touches numbers its lines densely, registers them here and then says
//! which core touches which; what happens is in [`Contents`]. What the caches are never changes
//! and is shared by copies, so that a copy costs what the caches hold.

pub(crate) mod cache;
pub(crate) mod geometry;
pub(crate) mod lines;
pub(crate) mod policy;
pub(crate) mod state;

use crate::report::observer::Watch;
use crate::report::tally::Tally;
use corehop_traces::Kind;
use geometry::Geometry;
use policy::EMPTY;
use state::Contents;
use std::sync::Arc;

/// The caches of the cores used, with what they hold and what they counted.
///
/// A copy goes on independently, which saves numbering the same lines again.
#[derive(Clone)]
pub struct World {
    geometry: Arc<Geometry>,
    contents: Contents,
}

impl World {
    /// Empty caches, no lines.
    pub fn new(geometry: &Geometry) -> World {
        World {
            contents: Contents::new(geometry),
            geometry: Arc::new(geometry.clone()),
        }
    }

    /// Registers the line whose number divided by the number of residues is `quotient`; gives its
    /// id, which counts from 0. Registering a line twice makes two lines of it.
    ///
    /// # Panics
    /// On the 2^32nd line.
    pub fn line(&mut self, quotient: u64) -> u32 {
        let id = self.contents.lines() as u32;
        assert!(id < EMPTY, "a world numbers its lines in 32 bits");
        self.contents.add_line(&self.geometry, quotient);
        id
    }

    /// Registers several lines, as [`World::line`] does one.
    ///
    /// # Panics
    /// As [`World::line`].
    pub fn register(&mut self, quotients: &[u64]) {
        self.contents.reserve(&self.geometry, quotients.len());
        for &quotient in quotients {
            self.line(quotient);
        }
    }

    /// `core` touches `line`. `docs/model.md` says what happens; `watch` is told of it.
    ///
    /// # Panics
    /// When `core` is not one of the cores used, or `line` was not registered.
    #[inline(always)]
    pub fn access<W: Watch>(&mut self, core: usize, kind: Kind, line: u32, watch: &mut W) {
        let seat = &self.geometry.seats[core];
        let at = (&*self.geometry, seat);
        self.contents.access(at, kind, line, watch);
    }

    /// A core that is not simulated stores to `line`: every cluster, and an exclusive L3, loses it.
    ///
    /// # Panics
    /// When `line` was not registered.
    pub fn store_elsewhere(&mut self, line: u32) {
        self.contents.store_elsewhere(&self.geometry, line);
    }

    /// Both halves, for whoever makes many touches at once.
    pub(crate) fn parts(&mut self) -> (&Geometry, &mut Contents) {
        (&self.geometry, &mut self.contents)
    }

    /// Starts counting afresh; the caches stay as they are.
    pub fn start_counting(&mut self) {
        self.contents.start_counting();
    }

    /// What was counted, by core.
    pub fn tally(&self) -> &[Tally] {
        self.contents.tally()
    }
}
