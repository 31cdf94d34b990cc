//! Records the places of chunks, and what is needed before they are decoded.

use super::{ChunkLocation, Contents};
use crate::format::rule::{Rule, Violation};
use crate::format::system_calls::read_system_calls;
use crate::format::trace_capnp::block;
use crate::model::requests::Mark;

impl Contents {
    pub(super) fn take_chunk(
        &mut self,
        block: block::Reader<'_>,
        entry: u32,
        offset: usize,
        length: usize,
    ) -> Result<(), Violation> {
        let order = &mut self.order;
        self.decoder.read_order(block, order)?;
        let stream = self.streams.get_mut(order.thread.index()).ok_or_else(|| {
            Rule::References.broken(format!("a block is of thread {}", order.thread))
        })?;
        let executions_before = stream.executions;
        let mut calls = read_system_calls(self.decoder.decompressor(), block)?;
        calls
            .iter_mut()
            .for_each(|call| call.after += executions_before);
        stream.system_calls.append(&mut calls);
        let place = ChunkLocation {
            entry,
            offset,
            length,
            first_stamp: order.runs.first().map_or(0, |run| run.stamp),
            marks_before: stream.marks.len() as u32,
            marks: order.requests.len() as u32,
            executions: block.get_executions(),
            executions_before,
            templates_before: self.templates.len() as u32,
        };
        if let (Some(first), Some(last)) = (order.runs.first(), order.runs.last()) {
            if stream.last_stamp.is_some_and(|before| first.stamp < before) {
                return Err(Rule::Runs.broken("a block begins before its thread's last run"));
            }
            stream.last_stamp = Some(last.stamp);
            let stamps = order.runs.iter().map(|run| run.stamp);
            stream.run_stamps.extend(stamps);
            stream.chunks.push(place);
            stream.executions += u64::from(place.executions);
        }
        let mut runs = order.runs.iter();
        let mut run = runs.next();
        let mut run_end = run.map_or(0, |run| run.executions);
        for (place, &mark) in order.requests.iter().enumerate() {
            while mark >= run_end && run.is_some() {
                run = runs.next();
                run_end += run.map_or(0, |run| run.executions);
            }
            let number = order.numbers.get(place).copied();
            let connection = order.connections.get(place).copied();
            stream.marks.push(Mark {
                stamp: run.map(|run| run.stamp),
                number: number.filter(|&number| number != 0),
                connection: connection.filter(|&number| number != 0),
            });
        }
        self.executions += u64::from(block.get_executions());
        self.data_accesses += u64::from(block.get_accesses());
        Ok(())
    }
}
