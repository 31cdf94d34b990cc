//! Passes a batch to a listener.
//!
//! In a batch, an access that spans lines is one reference. Such accesses are rare. A batch without
//! any is passed unchanged; otherwise it is copied, and the further lines are inserted. In a trace
//! of several processes, or with physical addresses, every batch is copied and its lines are
//! located.

use super::Batch;
use super::literals::ENOUGH;
use crate::model::ids::{FunctionId, RequestId};
use crate::model::locator::Locator;
use crate::model::reference::{LineReference, Listener, Played};

/// The position of a batch in its thread.
pub struct Whence {
    /// The request it belongs to.
    pub request: Option<RequestId>,
    /// Executions of the thread before it.
    pub number: u64,
    /// Whether a call has ended just before.
    pub returned: bool,
    /// The function to report that its first execution enters.
    pub entered: Option<FunctionId>,
}

impl Batch {
    /// Passes the batch to the listener; `whence` is its position.
    pub fn hand_out(
        &mut self,
        whence: Whence,
        locator: Option<&mut Locator<'_>>,
        listener: &mut impl Listener,
    ) {
        let mut spread = std::mem::take(&mut self.spread);
        let (references, spans, first_place) = self.references();
        let played = Played {
            request: whence.request,
            number: whence.number,
            returned: whence.returned,
            entered: whence.entered,
            executions: self.executions,
            references,
            counts: self.counts(),
        };
        if spans.is_empty() && locator.is_none() {
            listener.played(played);
        } else {
            spread.clear();
            let mut spreading = Spreading {
                played: Played {
                    references: &[],
                    ..played
                },
                locator,
                spread: &mut spread,
                listener,
            };
            let mut copied = 0;
            for span in spans {
                let first = span.reference - first_place;
                spreading.copy(&references[copied..first]);
                spreading.span(references[first], span.further_lines);
                copied = first + 1;
            }
            spreading.copy(&references[copied..]);
            spreading.tell();
        }
        self.spread = spread;
    }
}

/// A batch that is copied through another buffer, which a huge span may fill.
struct Spreading<'s, 'l, L> {
    /// What is passed next, without the references.
    played: Played<'static>,
    locator: Option<&'s mut Locator<'l>>,
    spread: &'s mut Vec<LineReference>,
    listener: &'s mut L,
}

impl<L: Listener> Spreading<'_, '_, L> {
    /// Copies references to one line each.
    fn copy(&mut self, references: &[LineReference]) {
        for some in references.chunks(ENOUGH) {
            self.make_room();
            match &mut self.locator {
                Some(locator) => {
                    let located = some.iter().map(|&reference| locator.reference(reference));
                    self.spread.extend(located);
                }
                None => self.spread.extend_from_slice(some),
            }
        }
    }

    /// Copies an access that also references lines after the first.
    fn span(&mut self, first: LineReference, further_lines: u64) {
        let first = match &mut self.locator {
            Some(locator) => locator.reference(first),
            None => first,
        };
        for further in 0..=further_lines {
            self.make_room();
            self.spread
                .push(LineReference::new(first.line() + further, first.kind()));
        }
    }

    fn make_room(&mut self) {
        if self.spread.len() >= ENOUGH * 2 {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let references = &self.spread[..];
        self.listener.played(Played {
            references,
            ..self.played
        });
        let played = &mut self.played;
        (played.entered, played.executions, played.counts) = (None, 0, [0; 3]);
        played.returned = false;
        self.spread.clear();
    }
}
