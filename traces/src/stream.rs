//! What a writer holds of one thread: the stretch being gathered, and the execution being made.

use crate::shape::DataAccess;
use crate::stretch::{Run, Stretch};

/// An execution whose accesses are still coming in.
pub struct Open {
    /// The code block's number.
    pub code_block: u32,
    /// The stamp of the run that it belongs to.
    pub stamp: u64,
    /// Whether that run begins with it.
    pub begins_run: bool,
    /// The number of the request that begins with it, if one does; 0 where it is not known.
    pub begins_request: Option<u64>,
}

/// One thread's side of a writer.
pub struct Stream {
    /// The executions that are not written yet, without the open one.
    pub stretch: Stretch,
    /// The thread's last execution.
    pub open: Option<Open>,
    /// What the open execution did, without addresses.
    pub open_accesses: Vec<DataAccess>,
    /// The addresses to go with it.
    pub open_addresses: Vec<u64>,
    /// The largest stamp so far.
    pub last_stamp: Option<u64>,
    /// A stamp that no execution has followed yet.
    pub next_stamp: Option<u64>,
    /// The number of a request whose mark no execution has followed yet; 0 where it is not known.
    pub next_request: Option<u64>,
    /// A request has ended, and nothing has followed yet.
    pub request_ended: bool,
}

impl Stream {
    /// A thread that has done nothing.
    pub fn new(thread: u32) -> Stream {
        Stream {
            stretch: Stretch {
                thread,
                ..Stretch::default()
            },
            open: None,
            open_accesses: Vec::new(),
            open_addresses: Vec::new(),
            last_stamp: None,
            next_stamp: None,
            next_request: None,
            request_ended: false,
        }
    }

    /// Adds the open execution, which has turned out to be of this shape.
    pub fn append(&mut self, shape: u32, open: &Open) {
        let stretch = &mut self.stretch;
        if let Some(number) = open.begins_request {
            stretch.requests.push(stretch.shapes.len() as u32);
            stretch.numbers.push(number);
        }
        if open.begins_run || stretch.runs.is_empty() {
            stretch.runs.push(Run {
                stamp: open.stamp,
                executions: 0,
            });
        }
        if let Some(run) = stretch.runs.last_mut() {
            run.executions += 1;
        }
        stretch.shapes.push(shape);
        stretch.addresses.append(&mut self.open_addresses);
        self.open_accesses.clear();
    }

    /// Marks the end of a request where no other begins.
    pub fn close_request(&mut self) {
        if std::mem::take(&mut self.request_ended) {
            self.stretch.requests.push(self.stretch.shapes.len() as u32);
            self.stretch.numbers.push(0);
        }
    }

    /// Turns a mark that no execution has followed into one that ends the thread's last request.
    pub fn close_last_request(&mut self) {
        self.request_ended |= self.next_request.take().is_some();
        self.close_request();
    }

    /// Takes what is to be written as a block.
    pub fn take_stretch(&mut self) -> Stretch {
        let next = Stretch {
            thread: self.stretch.thread,
            ..Stretch::default()
        };
        std::mem::replace(&mut self.stretch, next)
    }
}
