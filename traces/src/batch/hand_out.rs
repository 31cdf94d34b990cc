//! Tells a listener of a batch.
//!
//! An access that spans lines is one touch of a batch until here: few do, so a batch without any is
//! told as it is, and another is copied with the further lines put in.

use super::Batch;
use super::literals::ENOUGH;
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
    /// Tells the listener of what was played, which comes after what `whence` says.
    pub fn hand_out(&mut self, whence: Whence, listener: &mut impl Listener) {
        let mut spread = std::mem::take(&mut self.spread);
        self.tell(whence, &mut spread, listener);
        self.spread = spread;
    }

    fn tell(&self, whence: Whence, spread: &mut Vec<Touch>, listener: &mut impl Listener) {
        let (touches, spans, first_place) = self.touches();
        let mut played = Played {
            request: whence.request,
            number: whence.number,
            returned: whence.returned,
            entered: self.entered,
            executions: self.executions,
            touches,
            counts: self.counts(),
        };
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
        spread.clear();
        let mut copied = 0;
        for span in spans {
            let place = span.touch - first_place;
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
