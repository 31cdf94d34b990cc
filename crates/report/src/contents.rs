//! The contents of a report, and its pictures by section.

use crate::pass::pictured::PicturedRequest;
use crate::pictures::picture::Picture;
use crate::pictures::{
    accesses, delegated, elsewhere, misses, modes, space, split, sweep, throughput,
};
use crate::search_space::space::SearchSpace;
use crate::search_space::sweep::Sweep;
use crate::sources::Sources;
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::detail::Attribution;
use std::path::Path;

/// Contents of the report.
pub struct Report<'a> {
    pub explained: &'a Explanation<'a>,
    /// Measurement of the plan, in a sentence.
    pub measured: Option<String>,
    /// The plan's file.
    pub plan_path: &'a Path,
    /// Whether commands find the trace without its name.
    pub is_default_trace: bool,
    pub pictured: &'a [PicturedRequest],
    pub attribution: &'a Attribution,
    /// Source lines of functions.
    pub sources: Sources,
    /// `None` if it was omitted.
    pub space: Option<SearchSpace>,
    /// `None` if no sweep was given.
    pub sweep: Option<Sweep>,
}

/// The pictures by section.
pub struct Sections {
    pub accesses: Vec<Picture>,
    pub misses: Vec<Picture>,
    pub split: Vec<Picture>,
    pub space: Vec<Picture>,
}

/// Rows in the table of functions.
pub const FUNCTIONS: usize = 60;

impl Report<'_> {
    /// Draws all pictures.
    pub fn sections(&self) -> Sections {
        let explained = self.explained;
        let accesses = self.pictured.iter();
        Sections {
            accesses: accesses
                .map(|of| accesses::request(explained, of))
                .collect(),
            misses: [Some(misses::levels(explained)), modes::misses(explained)]
                .into_iter()
                .flatten()
                .chain([
                    misses::cores(explained),
                    misses::causes(explained),
                    misses::functions(explained, &self.sources, FUNCTIONS),
                ])
                .collect(),
            split: self.split_pictures(),
            space: self.space_pictures(),
        }
    }

    fn split_pictures(&self) -> Vec<Picture> {
        let explained = self.explained;
        let mut shown = vec![split::phases(explained, self.pictured)];
        if explained.split.delegated().next().is_some() {
            shown.push(delegated::calls(explained, self.pictured));
        }
        shown.push(split::working_sets(explained));
        shown.extend(modes::working_sets(explained));
        shown.extend([
            split::shared(explained),
            split::lost(explained),
            throughput::over_connections(explained),
        ]);
        shown
    }

    fn space_pictures(&self) -> Vec<Picture> {
        let explained = self.explained;
        let mut shown = vec![elsewhere::hop_cost(explained)];
        if let Some(found) = &self.space {
            shown.push(space::splits(found));
            if !found.cores.is_empty() {
                shown.push(elsewhere::cores(explained, &found.cores));
            }
            shown.push(space::neighbours(explained));
            shown.push(elsewhere::machines(explained, found));
        }
        shown.extend(self.sweep.as_ref().map(sweep::machines));
        shown
    }
}

impl Sections {
    /// Returns all pictures, in the order of the page.
    pub fn all(&self) -> impl Iterator<Item = &Picture> {
        let sections = [&self.accesses, &self.misses, &self.split, &self.space];
        sections.into_iter().flatten()
    }
}
