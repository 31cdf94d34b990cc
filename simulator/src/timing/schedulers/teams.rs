//! `teams`: several copies of a plan, each on a separate group of cores.
//!
//! On four cores, a plan for two cores makes two teams: cores 0 and 1, and 2 and 3. Connection n
//! belongs to team n modulo their number. Remaining cores that cannot form a team are unused.

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::{Move, Scheduler, Thread};

pub(super) static ENTRY: Entry = Entry {
    name: "teams",
    summary: "as many copies of the plan as there are cores for; connections use them round-robin",
    standing: Standing::Runtime,
    goes_by_plan: true,
    argument: None,
    build,
};

struct Teams {
    teams: usize,
    cores_of_team: usize,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let cores_of_team = setup.split.cores() as usize;
    Box::new(Teams {
        teams: setup.cores / cores_of_team,
        cores_of_team,
    })
}

impl Scheduler for Teams {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.teams * self.cores_of_team
    }

    fn enter(&mut self, thread: Thread, _queues: &Queues) -> Move {
        let first = thread.core - thread.core % self.cores_of_team;
        Move::Hop(first + thread.to as usize)
    }
}
