//! The system calls of a chunk, as four columns of a `block` entry.
//!
//! They are separate from the executions, so a reader can read them without the rest of the entry,
//! or skip them.

use crate::format::column::{Packed, pack, room, unpack};
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::block;
use crate::model::system_call::{MAX_SYSTEM_CALLS, SystemCall};
use zstd::bulk::{Compressor, Decompressor};

/// Compressed system calls that can be stored in a message.
pub struct PackedCalls {
    count: u32,
    /// Places, numbers, whether they returned, and results; `None` if there are no calls.
    columns: Option<[Packed; 4]>,
}

impl PackedCalls {
    /// Compresses `calls`, whose places ascend within their chunk.
    pub fn of(compressor: &mut Compressor<'_>, calls: &[SystemCall]) -> std::io::Result<Self> {
        if calls.is_empty() {
            let (count, columns) = (0, None);
            return Ok(PackedCalls { count, columns });
        }
        let mut before = 0;
        let mut step = |call: &SystemCall| {
            let step = call.after - std::mem::replace(&mut before, call.after);
            step as u32
        };
        let steps: Vec<u32> = calls.iter().map(&mut step).collect();
        let numbers: Vec<i32> = calls.iter().map(|call| call.number).collect();
        let returned: Vec<u8> = calls.iter().map(|c| c.result.is_some().into()).collect();
        let results: Vec<i64> = calls.iter().map(|c| c.result.unwrap_or(0)).collect();
        let columns = Some([
            pack(compressor, &steps)?,
            pack(compressor, &numbers)?,
            pack(compressor, &returned)?,
            pack(compressor, &results)?,
        ]);
        let count = calls.len() as u32;
        Ok(PackedCalls { count, columns })
    }

    /// Returns the size of the columns in a message.
    pub fn size_bytes(&self) -> usize {
        room(self.columns.iter().flatten())
    }

    /// Stores the columns in their entry.
    pub fn store(&self, mut block: block::Builder<'_>) {
        let Some([after, numbers, returned, results]) = &self.columns else {
            return;
        };
        block.set_system_call_count(self.count);
        after.store(block.reborrow().init_system_calls_after());
        numbers.store(block.reborrow().init_system_call_numbers());
        returned.store(block.reborrow().init_system_calls_returned());
        results.store(block.init_system_call_results());
    }
}

/// Reads the system calls of a chunk, with places within it.
pub fn read_system_calls(
    zstd: &mut Decompressor<'_>,
    block: block::Reader<'_>,
) -> Result<Vec<SystemCall>, Violation> {
    let count = block.get_system_call_count() as usize;
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MAX_SYSTEM_CALLS {
        return Err(Rule::SystemCalls.broken(format!("claims {count} system calls")));
    }
    let (mut steps, mut numbers) = (Vec::<u32>::new(), Vec::<i32>::new());
    let (mut returned, mut results) = (Vec::<u8>::new(), Vec::<i64>::new());
    let after = block.get_system_calls_after();
    unpack(zstd, after, "systemCallsAfter", count, &mut steps)?;
    let column = block.get_system_call_numbers();
    unpack(zstd, column, "systemCallNumbers", count, &mut numbers)?;
    let column = block.get_system_calls_returned();
    unpack(zstd, column, "systemCallsReturned", count, &mut returned)?;
    let column = block.get_system_call_results();
    unpack(zstd, column, "systemCallResults", count, &mut results)?;
    let executions = u64::from(block.get_executions());
    let mut after = 0;
    let mut calls = Vec::with_capacity(count);
    for (place, &number) in numbers.iter().enumerate() {
        after += u64::from(steps[place]);
        if after > executions {
            let detail = format!("call {place} comes after {after} of {executions} executions");
            return Err(Rule::SystemCalls.broken(detail));
        }
        let result = match (returned[place], results[place]) {
            (0, 0) => None,
            (1, result) => Some(result),
            (told, result) => {
                let detail = format!("call {place} has result {result} and {told} as returned");
                return Err(Rule::SystemCalls.broken(detail));
            }
        };
        calls.push(SystemCall {
            after,
            number,
            result,
        });
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::entry::message;
    use crate::format::trace_capnp::entry;

    /// Reads these columns from a block of three executions.
    fn read(
        claimed: u32,
        steps: &[u32],
        returned: &[u8],
        results: &[i64],
    ) -> Result<Vec<SystemCall>, Violation> {
        let mut compressor = Compressor::new(1).unwrap();
        let numbers = vec![7; steps.len()];
        let columns = [
            pack(&mut compressor, steps).unwrap(),
            pack(&mut compressor, &numbers).unwrap(),
            pack(&mut compressor, returned).unwrap(),
            pack(&mut compressor, results).unwrap(),
        ];
        let calls = PackedCalls {
            count: claimed,
            columns: Some(columns),
        };
        let mut message = message(1000);
        let mut block = message.init_root::<entry::Builder<'_>>().init_block();
        block.set_executions(3);
        calls.store(block.reborrow());
        read_system_calls(&mut Decompressor::new().unwrap(), block.into_reader())
    }

    #[test]
    fn what_breaks_a_rule_of_system_calls_is_refused_and_told() {
        let told = |read: Result<Vec<SystemCall>, Violation>| read.unwrap_err().detail;
        assert_eq!(read(2, &[3, 0], &[1, 0], &[-1, 0]).unwrap().len(), 2);
        assert_eq!(
            told(read(2, &[3, 1], &[1, 0], &[-1, 0])),
            "call 1 comes after 4 of 3 executions"
        );
        assert_eq!(
            told(read(2, &[u32::MAX, u32::MAX], &[1, 0], &[-1, 0])),
            "call 0 comes after 4294967295 of 3 executions"
        );
        assert_eq!(
            told(read(2, &[3, 0], &[1, 0], &[-1, 5])),
            "call 1 has result 5 and 0 as returned"
        );
        assert_eq!(
            told(read(2, &[3, 0], &[2, 0], &[-1, 0])),
            "call 0 has result -1 and 2 as returned"
        );
        assert_eq!(
            told(read(1 << 21, &[3, 0], &[1, 0], &[-1, 0])),
            "claims 2097152 system calls"
        );
        assert_eq!(
            told(read(3, &[3, 0], &[1, 0], &[-1, 0])),
            "column systemCallsAfter claims 8 bytes, not 12"
        );
    }
}
