//! Names of functions on the command line: `f,Map<int, char>::get`.
//!
//! A comma within the brackets of a C++ name separates nothing, so clap's own delimiter will not
//! do. An option of this type may be repeated.

use corehop_traces::function_name::{NoNames, list};

/// The names that one option gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionNames(Vec<String>);

impl FunctionNames {
    /// Reads the value of an option.
    ///
    /// # Errors
    /// [`NoNames`] where a name is empty, or a bracket has no counterpart.
    pub fn parsed(text: &str) -> Result<FunctionNames, NoNames> {
        list(text).map(FunctionNames)
    }

    /// The names of an option that was repeated, in their order.
    pub fn all(given: &[FunctionNames]) -> Vec<String> {
        given.iter().flat_map(|names| names.0.clone()).collect()
    }
}
