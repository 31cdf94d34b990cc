//! One thread's place in a trace, and the loop that every replay spends its reading time in.
//!
//! Executions are played some hundreds at a time into room that stays in the first-level cache: a
//! loop over many keeps in registers what a call for each would load and store again.

use crate::address::Predictor;
use crate::block::Block;
use crate::execution::{Access, Kind};
use crate::shape::{Outline, Templates};

/// Executions that were played and not yet handed out.
pub struct Played {
    /// In replay order.
    pub executions: Vec<PlayedExecution>,
    /// The accesses of all of them, one execution's after another's, and then unused room.
    pub accesses: Vec<Access>,
    enough: usize,
}

/// An execution among others.
#[derive(Clone, Copy)]
pub struct PlayedExecution {
    /// Where its accesses end; they begin where those of the one before end.
    pub end: u32,
    /// The code block's number.
    pub code_block: u32,
    /// 1 + the function that the code block enters, or 0.
    pub entry: u32,
}

impl Played {
    /// Room to play the shapes of a trace into.
    pub fn new(templates: &Templates) -> Played {
        // 24 KiB, and then room for any one more execution.
        let enough = 1024;
        let unused = Access {
            address: 0,
            pc: 0,
            size_bytes: 1,
            kind: Kind::Fetch,
        };
        Played {
            executions: Vec::new(),
            accesses: vec![unused; enough + templates.longest()],
            enough,
        }
    }
}

/// Where in its stream a thread is.
#[derive(Default)]
pub struct Cursor {
    /// Which of the thread's blocks comes after this one.
    pub next_block: usize,
    /// The block being played.
    pub block: Block,
    /// Place of the current run.
    pub run: usize,
    /// Request marks of the thread so far.
    pub marks_passed: u32,
    /// The request that the thread is serving.
    pub request: Option<u32>,
    /// Executions of the thread before the block.
    pub executions_before: u64,
    /// The block's shapes, each with its first slot.
    shapes: Vec<(Outline, u32)>,
    predictor: Predictor,
    execution: usize,
    access: usize,
    explicit: usize,
    mark: usize,
}

impl Cursor {
    /// Goes to the beginning of the block that was just decoded.
    pub fn begin_block(&mut self, templates: &Templates) {
        self.next_block += 1;
        self.run = 0;
        self.execution = 0;
        self.access = 0;
        self.explicit = 0;
        self.mark = 0;
        self.predictor.reset(&self.block.bases);
        self.shapes.clear();
        let mut slot = 0;
        for &shape in &self.block.shapes {
            let outline = templates.outline(shape);
            self.shapes.push((outline, slot));
            slot += outline.data_count;
        }
    }

    /// Executions of the thread so far.
    pub fn executions(&self) -> u64 {
        self.executions_before + self.execution as u64
    }

    /// Whether the next execution begins a request. The mark is passed by asking.
    pub fn passes_mark(&mut self) -> bool {
        let passes = self.next_mark() == self.execution;
        self.mark += usize::from(passes);
        self.marks_passed += u32::from(passes);
        passes
    }

    fn next_mark(&self) -> usize {
        let mark = self.block.outline.requests.get(self.mark);
        mark.map_or(usize::MAX, |&mark| mark as usize)
    }

    /// Plays at least one execution, at most `most`, and none that begins a request but the first.
    /// How many they were.
    pub fn play(&mut self, most: u32, templates: &Templates, played: &mut Played) -> u32 {
        let most = (most as usize).min(self.next_mark() - self.execution);
        let places = &self.block.places[self.execution..][..most];
        let mut hows = &self.block.hows[self.access..];
        let mut explicit = &self.block.explicit[self.explicit..];
        let (hows_before, explicit_before) = (hows.len(), explicit.len());
        let mut end = 0;
        played.executions.clear();
        for &place in places {
            let (outline, first_slot) = &self.shapes[usize::from(place)];
            let room = &mut played.accesses[end..];
            let (accesses, holes) = templates.expand(outline, room);
            let (own, rest) = hows.split_at(holes.len());
            hows = rest;
            let first_slot = *first_slot as usize;
            self.predictor
                .decode(first_slot, own, &mut explicit, holes, accesses);
            end += accesses.len();
            played.executions.push(PlayedExecution {
                end: end as u32,
                code_block: outline.code_block,
                entry: outline.entry,
            });
            if end >= played.enough {
                break;
            }
        }
        let count = played.executions.len();
        self.execution += count;
        self.access += hows_before - hows.len();
        self.explicit += explicit_before - explicit.len();
        count as u32
    }
}
