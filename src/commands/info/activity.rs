//! Totals of the executions of a trace, counted in one pass.

use super::kernel_visits::KernelVisits;
use super::system_calls::SystemCalls;
use crate::terminal::progress::Bar;
use corehop_partitioner::progress;
use corehop_traces::{Kind, PAGE_SHIFT, Tell, Trace, physical_address};
use std::collections::{BTreeMap, HashSet};

/// Totals of the executions of a trace.
pub struct Activity<'t> {
    pub fetches: u64,
    pub loads: u64,
    pub stores: u64,
    /// Accesses of the kernel: fetches, loads, and stores.
    pub of_kernel: [u64; 3],
    /// Accesses at a known physical address, and the number of their pages.
    pub physical: (u64, usize),
    /// Accesses on each CPU of a machine, as far as it is recorded.
    pub by_cpu: BTreeMap<u16, u64>,
    /// Accesses of each complete request, ascending.
    pub per_request: Vec<u64>,
    pub system_calls: SystemCalls,
    pub kernel_visits: KernelVisits<'t>,
}

impl<'t> Activity<'t> {
    /// Counts the executions of a trace, which must be indexed by physical addresses.
    pub fn of(trace: &'t Trace) -> Result<Activity<'t>, corehop_traces::Error> {
        let stage = ("code blocks read", trace.execution_count());
        progress::stage(&Bar::new(), stage, |tell| Activity::told(trace, tell))
    }

    fn told(trace: &'t Trace, tell: Tell<'_>) -> Result<Activity<'t>, corehop_traces::Error> {
        let (mut by_kind, mut of_kernel) = ([0; 3], [0; 3]);
        let (mut physical, mut frames) = (0, HashSet::new());
        let mut by_cpu = BTreeMap::new();
        let mut by_request = vec![0; trace.requests().len()];
        let mut system_calls = SystemCalls::of(trace);
        let mut kernel_visits = KernelVisits::of(trace);
        let mut executions = trace.executions().telling(tell);
        while let Some(execution) = executions.next()? {
            for access in execution.accesses {
                by_kind[access.kind as usize] += 1;
                of_kernel[access.kind as usize] += u64::from(access.is_kernels());
                if let Some(address) = physical_address(access.address) {
                    physical += 1;
                    frames.insert(address >> PAGE_SHIFT);
                }
            }
            if let Some(cpu) = trace.cpu(execution.thread, execution.stamp) {
                *by_cpu.entry(cpu).or_default() += execution.accesses.len() as u64;
            }
            system_calls.execution(trace, &execution);
            kernel_visits.execution(trace, &execution);
            if let Some(request) = execution.request {
                by_request[request.index()] += execution.accesses.len() as u64;
            }
        }
        let requests = trace.requests().iter().zip(by_request);
        let complete = requests.filter(|(request, _)| request.complete);
        let mut per_request: Vec<u64> = complete.map(|(_, accesses)| accesses).collect();
        per_request.sort_unstable();
        system_calls.finish();
        kernel_visits.finish();
        let of = |kind: Kind| by_kind[kind as usize];
        Ok(Activity {
            fetches: of(Kind::Fetch),
            loads: of(Kind::Load),
            stores: of(Kind::Store),
            of_kernel,
            physical: (physical, frames.len()),
            by_cpu,
            per_request,
            system_calls,
            kernel_visits,
        })
    }

    pub fn accesses(&self) -> u64 {
        self.fetches + self.loads + self.stores
    }

    pub fn bytes_per_access(&self, trace: &Trace) -> Option<f64> {
        (self.accesses() > 0).then(|| trace.size_bytes() as f64 / self.accesses() as f64)
    }
}
