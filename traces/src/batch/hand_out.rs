//! Tells a listener of a batch.
//!
//! An access that spans lines is one touch of a batch until here: few do, so a batch without any is
//! told as it is, and another is copied with the further lines put in.

use super::{Batch, ENOUGH};
use crate::execution::Kind;
use crate::touch::{Listener, Played, Touch};

/// Where in its thread a batch begins.
pub struct Whence {
    /// The request it belongs to.
    pub request: Option<u32>,
    /// Executions of the thread before it.
    pub number: u64,
    /// Whether a call has ended just before.
    pub returned: bool,
}

impl Batch {
    /// How many fetches, loads and stores the batch makes.
    fn counts(&self) -> [u64; 3] {
        let touches = &self.touches[self.own.clone()];
        let (fetches, data) = (touches.len() - self.data_count, self.data_count as u64);
        // A store has its kind's bit set, and no other kind has.
        let stores = |touch: &Touch| touch.bits() & Kind::Store as u64;
        let stores = touches.iter().map(stores).sum::<u64>() / Kind::Store as u64;
        let mut counts = [fetches as u64, data - stores, stores];
        for span in &self.spans[self.own_spans.clone()] {
            counts[self.touches[span.touch].kind() as usize] += span.further_lines;
        }
        counts
    }

    /// Tells the listener of what was played, which comes after what `whence` says.
    pub fn hand_out(&mut self, whence: Whence, listener: &mut impl Listener) {
        let mut played = Played {
            request: whence.request,
            number: whence.number,
            returned: whence.returned,
            entered: self.entered,
            executions: self.executions,
            touches: &self.touches[self.own.clone()],
            counts: self.counts(),
        };
        let spans = &self.spans[self.own_spans.clone()];
        if spans.is_empty() {
            listener.played(played);
            return;
        }
        // The further lines are put in on the way to other room, which a huge span may fill.
        let mut tell = |spread: &mut Vec<Touch>| {
            let touches = &spread[..];
            listener.played(Played { touches, ..played });
            (played.entered, played.executions, played.counts) = (None, 0, [0; 3]);
            played.returned = false;
            spread.clear();
        };
        let touches = played.touches;
        let spread = &mut self.spread;
        spread.clear();
        let mut copied = 0;
        for span in spans {
            let place = span.touch - self.own.start;
            let first = touches[place];
            spread.extend_from_slice(&touches[copied..=place]);
            copied = place + 1;
            for further in 1..=span.further_lines {
                if spread.len() >= ENOUGH * 2 {
                    tell(spread);
                }
                spread.push(Touch::new(first.line() + further, first.kind()));
            }
        }
        spread.extend_from_slice(&touches[copied..]);
        tell(spread);
    }
}
