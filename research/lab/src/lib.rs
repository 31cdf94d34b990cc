//! Experiments on servers and traces without a proven gain, or that are not needed to make a server
//! faster: the theses' measurements, with their commands and tests.
//!
//! [`characterize`] classifies the lines of functions before their calls are delegated. [`cohorts`]
//! makes cores run threads of one hook consecutively. [`kernel_model`] adds a synthetic kernel to a
//! trace of user code. [`kth_calls`] finds single calls at which threads could change core.
//! [`pollution`] confines pages to a part of each L2. The program of this crate, `corehop-lab`,
//! runs them, and sweeps over many traces.

#![forbid(unsafe_code)]

pub mod characterize;
pub mod cohorts;
pub mod kernel_model;
pub mod kth_calls;
pub mod pollution;
