//! Names of functions on the command line: `f,Map<int, char>::get`.
//!
//! A comma inside the brackets of a C++ name is no separator, so clap's own delimiter is not
//! suitable. An option of this type may be repeated.

use corehop_traces::function_name::{NoNames, list};

/// The names in one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionNames(Vec<String>);

impl FunctionNames {
    /// Reads the value of an option.
    ///
    /// # Errors
    /// [`NoNames`] if a name is empty, or a bracket is unbalanced.
    pub fn parsed(text: &str) -> Result<FunctionNames, NoNames> {
        list(text).map(FunctionNames)
    }

    /// Returns the names of a repeated option in order.
    pub fn all(given: &[FunctionNames]) -> Vec<String> {
        given.iter().flat_map(|names| names.0.clone()).collect()
    }
}
