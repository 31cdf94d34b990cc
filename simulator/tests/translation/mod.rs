//! Address translation: replays count what the naive TLBs count, edge cases count what arithmetic
//! says, and machine files say what they may.

mod edges;
mod equals_the_oracle;
mod files;
