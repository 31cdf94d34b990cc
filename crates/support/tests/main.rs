//! All tests of the crate as one program, which builds faster than one per file.

mod atomic_file;
mod topology;
