//! The form of an access, all but its address, as a word has it and as a trace does.

use corehop_traces::{DataAccess, Kind};
use corehop_wire::elision::AccessForm;
use corehop_wire::ring::word;

/// That of the access of a data word.
pub fn form_of(word: u64) -> AccessForm {
    let (instruction, size_shift, store) = word::form_parts(word::form(word));
    AccessForm {
        instruction,
        size_shift,
        store,
    }
}

/// The trace's access of this form; `None` where it can have none.
pub fn access_of(form: AccessForm) -> Option<DataAccess> {
    let kind = if form.store { Kind::Store } else { Kind::Load };
    DataAccess::new(form.instruction, kind, 1 << form.size_shift)
}
