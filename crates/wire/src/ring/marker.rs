//! Where a request begins: set by the recorder for the plugin before the server starts.

use crate::ring::header::MOST_PATH_BYTES;
use crate::ring::memory::Memory;
use std::sync::atomic::Ordering;

/// Where a request begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestMarker {
    /// At the instruction at this offset in a file.
    At {
        /// Resolved path of the file.
        path: String,
        /// Offset in the file.
        file_offset: u64,
    },
    /// Where a thread has read from a connection after all earlier input was answered.
    SystemCalls,
    /// At a no-op whose displacement is [`NO_OP`] and a number.
    NoOp {
        /// The required number; `None` for any.
        number: Option<u16>,
    },
}

/// The upper half of the 32-bit displacement of `nopl disp32(%rax,%rax,1)`, which marks a request.
pub const NO_OP: u16 = 0x7ace;

const AT: u64 = 1;
const SYSTEM_CALLS: u64 = 2;
const ANY_NO_OP: u64 = 3;
const NUMBERED_NO_OP: u64 = 4;

impl Memory {
    /// Sets where a request begins. Must be called before the plugin starts.
    pub fn set_marker(&self, marker: &RequestMarker) {
        let place = self.marker_place();
        let (kind, value, path) = match marker {
            RequestMarker::At { path, file_offset } => (AT, *file_offset, path.as_str()),
            RequestMarker::SystemCalls => (SYSTEM_CALLS, 0, ""),
            RequestMarker::NoOp { number: None } => (ANY_NO_OP, 0, ""),
            RequestMarker::NoOp {
                number: Some(number),
            } => (NUMBERED_NO_OP, u64::from(*number), ""),
        };
        let bytes = &path.as_bytes()[..path.len().min(MOST_PATH_BYTES)];
        for (word, eight) in place.path.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..eight.len()].copy_from_slice(eight);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
        place
            .path_bytes
            .store(bytes.len() as u64, Ordering::Relaxed);
        place.value.store(value, Ordering::Relaxed);
        place.kind.store(kind, Ordering::Release);
    }

    /// Returns where a request begins; `None` if it is not set.
    pub fn marker(&self) -> Option<RequestMarker> {
        let place = self.marker_place();
        let kind = place.kind.load(Ordering::Acquire);
        let value = place.value.load(Ordering::Relaxed);
        match kind {
            AT => {
                let length = place.path_bytes.load(Ordering::Relaxed) as usize;
                let words = place.path.iter();
                let bytes: Vec<u8> = words
                    .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
                    .take(length)
                    .collect();
                Some(RequestMarker::At {
                    path: String::from_utf8_lossy(&bytes).into_owned(),
                    file_offset: value,
                })
            }
            SYSTEM_CALLS => Some(RequestMarker::SystemCalls),
            ANY_NO_OP => Some(RequestMarker::NoOp { number: None }),
            NUMBERED_NO_OP => Some(RequestMarker::NoOp {
                number: Some(value as u16),
            }),
            _ => None,
        }
    }
}
