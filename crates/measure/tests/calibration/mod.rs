//! What a calibration doubts, and which replacement policies it tells apart.

mod doubts;
mod policies;
