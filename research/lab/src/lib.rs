//! Experiments on servers and traces that gained nothing that was proven, or are not needed to make
//! a server faster: the theses' measurements, kept with their commands and tests.
//!
//! [`characterize`] classifies the lines of functions before their calls are delegated.
//! [`cohorts`] has cores run threads of one hook in a row. [`kernel_model`] adds a synthetic kernel
//! to a trace of user code. [`kth_calls`] finds single calls at which threads could change core.
//! [`pollution`] confines pages to a part of each L2. The program of this crate, `corehop-lab`,
//! runs them, and sweeps of many traces.

#![forbid(unsafe_code)]

pub mod characterize;
pub mod cohorts;
pub mod kernel_model;
pub mod kth_calls;
pub mod pollution;
