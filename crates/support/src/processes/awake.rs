//! Threads of the lowest priority that keep CPUs from halting.
//!
//! A halted virtual CPU is woken through the hypervisor, which takes tens of microseconds; a real
//! CPU takes some to wake from a deep sleep. These threads avoid both, as booting a kernel with
//! `idle=poll` does. They have the policy SCHED_IDLE: any other thread that wakes preempts them at
//! once. Rejected: `/dev/cpu_dma_latency`, which does not keep a virtual CPU from halting.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Keeps every CPU of this process awake until it is dropped.
pub struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Starts a thread on each CPU, and returns when all are running.
    ///
    /// # Errors
    /// The kernel's error if it does not allow a thread the policy or the CPU.
    pub fn keep() -> std::io::Result<Awake> {
        let all = sched_getaffinity(None)?;
        let mut awake = Awake {
            is_over: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)) {
            let is_over = Arc::clone(&awake.is_over);
            let (told, ready) = std::sync::mpsc::channel();
            awake.threads.push(std::thread::spawn(move || {
                let is_ready = yields_to_all().and_then(|()| stays_on(cpu));
                let may_spin = is_ready.is_ok();
                let _ = told.send(is_ready);
                while may_spin && !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }));
            // This fails only if the thread has panicked.
            ready.recv().map_err(std::io::Error::other)??;
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Lets the calling thread run only when no other thread wants the CPU.
fn yields_to_all() -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameters, which live until the call returns.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn stays_on(cpu: usize) -> std::io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}
