//! A stretch of one thread's executions, as a writer gathers it.

use crate::shape::Size;

/// Executions between which no other thread is known to have done anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// When the run began: a value of a counter that all threads share.
    pub stamp: u64,
    /// Number of executions.
    pub executions: u32,
}

/// Executions of one thread, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Index of the thread.
    pub thread: u32,
    /// Shape number of each execution.
    pub shapes: Vec<u32>,
    /// Addresses of all data accesses, execution by execution.
    pub addresses: Vec<u64>,
    /// Runs, by ascending stamp.
    pub runs: Vec<Run>,
    /// Places of the executions that begin a request, ascending.
    pub requests: Vec<u32>,
    /// The number of each of `requests` among all that the server served; 0 where it is not known.
    pub numbers: Vec<u64>,
    /// The connection of each of `requests`; 0 where it is not known.
    pub connections: Vec<u64>,
}

impl Stretch {
    /// Forgets all but keeps the room.
    pub fn clear(&mut self) {
        self.shapes.clear();
        self.addresses.clear();
        self.runs.clear();
        self.requests.clear();
        self.numbers.clear();
        self.connections.clear();
    }

    /// Takes the first half of the executions off. `sizes` are those of the shapes.
    pub fn split_half(&mut self, sizes: &[Size]) -> Stretch {
        let half = self.shapes.len() / 2;
        let later_shapes = self.shapes.split_off(half);
        let count_of = |&shape: &u32| usize::from(sizes[shape as usize].data);
        let accesses = self.shapes.iter().map(count_of).sum();
        let mut later = Stretch {
            thread: self.thread,
            shapes: later_shapes,
            addresses: self.addresses.split_off(accesses),
            ..Stretch::default()
        };
        let mut room = half as u32;
        for run in std::mem::take(&mut self.runs) {
            let stamp = run.stamp;
            let executions = run.executions.min(room);
            room -= executions;
            let rest = run.executions - executions;
            if executions > 0 {
                self.runs.push(Run { stamp, executions });
            }
            if rest > 0 {
                later.runs.push(Run {
                    stamp,
                    executions: rest,
                });
            }
        }
        let half = half as u32;
        let first_later = self.requests.partition_point(|&place| place < half);
        let places = self.requests.split_off(first_later);
        later.numbers = self.numbers.split_off(first_later);
        later.connections = self.connections.split_off(first_later);
        later.requests = places.into_iter().map(|place| place - half).collect();
        std::mem::replace(self, later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_hold_what_the_whole_held() {
        let mut later = Stretch {
            thread: 3,
            shapes: vec![0, 1, 0, 1, 1],
            addresses: vec![10, 11, 12],
            runs: vec![
                Run {
                    stamp: 5,
                    executions: 1,
                },
                Run {
                    stamp: 7,
                    executions: 4,
                },
            ],
            requests: vec![1, 2, 5],
            numbers: vec![7, 9, 0],
            connections: vec![3, 0, 0],
        };
        let earlier = later.split_half(&[0, 1].map(|data| Size { data, fetches: 1 }));
        let expected = Stretch {
            thread: 3,
            shapes: vec![0, 1],
            addresses: vec![10],
            runs: vec![
                Run {
                    stamp: 5,
                    executions: 1,
                },
                Run {
                    stamp: 7,
                    executions: 1,
                },
            ],
            requests: vec![1],
            numbers: vec![7],
            connections: vec![3],
        };
        assert_eq!(earlier, expected);
        let expected = Stretch {
            thread: 3,
            shapes: vec![0, 1, 1],
            addresses: vec![11, 12],
            runs: vec![Run {
                stamp: 7,
                executions: 3,
            }],
            requests: vec![0, 3],
            numbers: vec![9, 0],
            connections: vec![0, 0],
        };
        assert_eq!(later, expected);
    }
}
