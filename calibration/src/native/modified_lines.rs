//! Lines that one thread writes and another reads one after the other, to say what a line costs
//! that another core's caches hold modified.

use super::follow::{IN_A_ROUND, follow};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A line: where the reader goes on, and what the writer changes.
#[repr(C, align(64))]
#[derive(Default)]
struct Line {
    next: AtomicPtr<Line>,
    mark: AtomicU64,
}

/// So many lines in one cycle, for two threads.
pub struct ModifiedLines(Vec<Line>);

impl ModifiedLines {
    /// `next[i]` is read after line `i`.
    ///
    /// # Panics
    /// When there are no lines, or not whole rounds of [`IN_A_ROUND`].
    pub fn new(next: &[u32]) -> ModifiedLines {
        assert!(!next.is_empty() && next.len().is_multiple_of(IN_A_ROUND));
        let lines: Vec<Line> = next.iter().map(|_| Line::default()).collect();
        for (line, &successor) in lines.iter().zip(next) {
            let successor = std::ptr::from_ref(&lines[successor as usize]);
            line.next.store(successor.cast_mut(), Ordering::Release);
        }
        ModifiedLines(lines)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Writes to each, so that this core's caches hold it modified and no other's do.
    pub fn modify(&self) {
        for line in &self.0 {
            let mark = line.mark.load(Ordering::Relaxed);
            line.mark.store(mark.wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Reads each once.
    pub fn read(&self) {
        let first = std::ptr::from_ref(&self.0[0]).cast();
        // SAFETY: `new` filled the first word of each line with the address of a line of this
        // vector, which never changes and stays as long as `self`.
        unsafe { follow(first, self.0.len() / IN_A_ROUND) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_read_while_another_thread_writes_to_them() {
        let next: Vec<u32> = (0..32).map(|line| (line + 3) % 32).collect();
        let lines = ModifiedLines::new(&next);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| lines.modify()));
            (0..1000).for_each(|_| lines.read());
        });
        assert!(
            lines
                .0
                .iter()
                .all(|line| line.mark.load(Ordering::Relaxed) == 1000)
        );
        assert_eq!(lines.count(), 32);
    }
}
