//! Lines that one thread writes and another reads in sequence, to measure a load of a line that is
//! modified in another core's caches.
//!
//! Each line is in its own page. With many lines in one page, prefetchers fetch lines before they
//! are requested, and a line seems to take less time than one of the reader's own L2.

use super::follow::{IN_A_ROUND, follow};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Lines in the smallest page.
const IN_A_PAGE: usize = 64;

/// A line: the reader's next pointer, and the word that the writer changes.
#[repr(C, align(64))]
#[derive(Default)]
struct Line {
    next: AtomicPtr<Line>,
    mark: AtomicU64,
}

#[repr(C, align(4096))]
struct Page([Line; IN_A_PAGE]);

/// A cycle of lines, for two threads.
pub struct ModifiedLines(Vec<Page>);

impl ModifiedLines {
    /// Creates the cycle: `next[i]` is read after line `i`.
    ///
    /// # Panics
    /// If there are no lines, or not whole rounds of [`IN_A_ROUND`].
    pub fn new(next: &[u32]) -> ModifiedLines {
        assert!(!next.is_empty() && next.len().is_multiple_of(IN_A_ROUND));
        let page = |_| Page(std::array::from_fn(|_| Line::default()));
        let lines = ModifiedLines(next.iter().map(page).collect());
        for (line, &successor) in lines.all().zip(next) {
            let successor = std::ptr::from_ref(lines.line(successor as usize));
            line.next.store(successor.cast_mut(), Ordering::Release);
        }
        lines
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The line in the page of this number. Its position differs by page, so that lines map to many
    /// sets.
    fn line(&self, number: usize) -> &Line {
        &self.0[number].0[number % IN_A_PAGE]
    }

    fn all(&self) -> impl Iterator<Item = &Line> {
        (0..self.count()).map(|number| self.line(number))
    }

    /// Writes to each line, so that it is modified in this core's caches and in no other's.
    pub fn modify(&self) {
        for line in self.all() {
            let mark = line.mark.load(Ordering::Relaxed);
            line.mark.store(mark.wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Reads each line once.
    pub fn read(&self) {
        let first = std::ptr::from_ref(self.line(0)).cast();
        // SAFETY: `new` filled the first word of each line with the address of a line of this
        // vector, which never changes and lives as long as `self`.
        unsafe { follow(first, self.count() / IN_A_ROUND) };
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
        let marks = lines.all().map(|line| line.mark.load(Ordering::Relaxed));
        assert_eq!(marks.filter(|&mark| mark == 1000).count(), 32);
    }
}
