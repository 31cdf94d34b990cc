//! The control ring: complete messages, one writer at a time, one reader.
//!
//! The lock contains its owner's process. Otherwise a server process that was killed while holding
//! the lock would block all others. Its unfinished message was never published.

use crate::ring::memory::{Memory, process_is_gone};
use crate::ring::message::{MOST_WORDS, Message};
use crate::ring::stream::Off;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Memory {
    /// Sends a message, waiting for space. Fails if recording has ended.
    pub fn send(&self, message: &Message) -> Result<(), Off> {
        let words = message.encode();
        assert!(words.len() <= MOST_WORDS);
        let control = &self.header().control.0;
        self.lock_control()?;
        let outcome = self.wait_for_room(words.len() as u64);
        if outcome.is_ok() {
            let written = control.written.load(Ordering::Relaxed);
            let ring = self.control_data();
            for (number, &word) in (0..).zip(&words) {
                let place = written.wrapping_add(number) % ring.len() as u64;
                ring[place as usize].store(word, Ordering::Relaxed);
            }
            let after = written.wrapping_add(words.len() as u64);
            control.written.store(after, Ordering::Release);
        }
        control.owner.store(0, Ordering::Release);
        outcome
    }

    /// Receives every message sent so far, oldest first. If a wild store of the server has made a
    /// length impossible, the messages so far are skipped.
    pub(crate) fn receive<E>(
        &self,
        mut each: impl FnMut(Message) -> Result<(), E>,
    ) -> Result<(), E> {
        let control = &self.header().control.0;
        let ring = self.control_data();
        let at = |place: u64| ring[(place % ring.len() as u64) as usize].load(Ordering::Relaxed);
        let written = control.written.load(Ordering::Acquire);
        let mut read = control.read.load(Ordering::Relaxed);
        loop {
            let sent = written.wrapping_sub(read);
            if sent == 0 {
                return Ok(());
            }
            let first = at(read);
            let words = 1 + Message::payload_words(first) as u64;
            if sent > ring.len() as u64 || words > sent {
                control.read.store(written, Ordering::Release);
                return Ok(());
            }
            let payload: Vec<u64> = (1..words).map(|word| at(read.wrapping_add(word))).collect();
            read = read.wrapping_add(words);
            control.read.store(read, Ordering::Release);
            if let Some(message) = Message::decode(first, &payload) {
                each(message)?;
            }
        }
    }

    fn lock_control(&self) -> Result<(), Off> {
        let owner = &self.header().control.0.owner;
        let us = std::process::id();
        loop {
            let taken = owner.compare_exchange(0, us, Ordering::Acquire, Ordering::Relaxed);
            let Err(holder) = taken else { return Ok(()) };
            if holder != us && process_is_gone(holder) {
                let _ = owner.compare_exchange(holder, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
            self.wait(Duration::from_micros(20))?;
        }
    }

    fn wait_for_room(&self, words: u64) -> Result<(), Off> {
        let control = &self.header().control.0;
        let capacity = u64::from(self.settings().control_words);
        let written = control.written.load(Ordering::Relaxed);
        loop {
            let unread = written.wrapping_sub(control.read.load(Ordering::Acquire));
            if unread <= capacity - words {
                return Ok(());
            }
            self.wait(Duration::from_micros(100))?;
        }
    }

    fn wait(&self, pause: Duration) -> Result<(), Off> {
        if self.recorder_is_gone() {
            self.stop();
        }
        if self.is_stopped() {
            return Err(Off);
        }
        std::thread::sleep(pause);
        Ok(())
    }
}
