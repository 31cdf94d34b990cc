//! Converts the form of an access (all except its address) between words and the trace.

use corehop_traces::{DataAccess, Kind};
use corehop_wire::elision::AccessForm;
use corehop_wire::ring::word;

/// Returns the form of a data word's access.
pub fn form_of(word: u64) -> AccessForm {
    let (instruction, size_shift, store) = word::form_parts(word::form(word));
    AccessForm {
        instruction,
        size_shift,
        store,
    }
}

/// Returns the trace's access of this form; `None` if there is none.
pub fn access_of(form: AccessForm) -> Option<DataAccess> {
    let kind = if form.store { Kind::Store } else { Kind::Load };
    DataAccess::new(form.instruction, kind, 1 << form.size_shift)
}
