//! Restores all accesses of an execution from the recorded ones.

use crate::elision::access::{AccessForm, Address, PlainAccess};

/// One access of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedAccess {
    /// The access without its address.
    pub form: AccessForm,
    /// Index of the execution's word with the base address; `None` for base 0.
    pub word: Option<u32>,
    /// Distance from the base.
    pub distance: u64,
}

/// Returns all accesses of an execution, in program order. The code block at `start` makes
/// `accesses`. Word 0 begins the execution, and contains the address of the first recorded access
/// if `leads`. The other words, from 1, are accesses with these forms.
///
/// An execution that ended early, by a fault, has its accesses up to the first missing recorded
/// one.
pub fn complete(
    start: u64,
    accesses: &[PlainAccess],
    leads: bool,
    forms: &[AccessForm],
) -> Vec<CompletedAccess> {
    let mut others = (1u32..).zip(forms).peekable();
    let recorded = |(word, form): (u32, &AccessForm)| CompletedAccess {
        form: *form,
        word: Some(word),
        distance: 0,
    };
    let mut parts = Vec::with_capacity(accesses.len() + forms.len());
    // For each access, the word with its address.
    let mut words = Vec::with_capacity(accesses.len());
    let mut leads = leads.then_some(0);
    for access in accesses {
        let form = access.form;
        let is_before = |other: &(u32, &AccessForm)| other.1.instruction < form.instruction;
        while let Some(other) = others.next_if(is_before) {
            parts.push(recorded(other));
        }
        let (word, distance) = match access.address {
            Address::Recorded => {
                let next = || {
                    others
                        .next_if(|other| *other.1 == form)
                        .map(|other| other.0)
                };
                match leads.take().or_else(next) {
                    Some(word) => (Some(word), 0),
                    None => break,
                }
            }
            Address::FromCode(distance) => (None, start.wrapping_add_signed(distance)),
            Address::From { access, distance } => match words.get(usize::from(access)) {
                Some(&Some(word)) => (Some(word), distance.cast_unsigned()),
                _ => break,
            },
        };
        words.push(word);
        parts.push(CompletedAccess {
            form,
            word,
            distance,
        });
    }
    parts.extend(others.map(recorded));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(instruction: u16) -> AccessForm {
        AccessForm {
            instruction,
            size_shift: 3,
            store: false,
        }
    }

    fn access(instruction: u16, address: Address) -> PlainAccess {
        PlainAccess {
            form: form(instruction),
            address,
        }
    }

    /// Returns the instruction, word and distance of each access.
    fn parts(
        accesses: &[PlainAccess],
        leads: bool,
        forms: &[AccessForm],
    ) -> Vec<(u16, Option<u32>, u64)> {
        let parts = complete(0x1000, accesses, leads, forms);
        let parts = parts.iter();
        let parts = parts.map(|part| (part.form.instruction, part.word, part.distance));
        parts.collect()
    }

    const ACCESSES: [(u16, Address); 4] = [
        (0, Address::FromCode(-16)),
        (2, Address::Recorded),
        (
            4,
            Address::From {
                access: 1,
                distance: 8,
            },
        ),
        (6, Address::Recorded),
    ];

    #[test]
    fn others_stand_in_program_order() {
        let accesses = ACCESSES.map(|(instruction, address)| access(instruction, address));
        let forms = [1, 1, 2, 3, 6, 7].map(form);
        let expected = [
            (0, None, 0xff0),
            (1, Some(1), 0),
            (1, Some(2), 0),
            (2, Some(3), 0),
            (3, Some(4), 0),
            (4, Some(3), 8),
            (6, Some(5), 0),
            (7, Some(6), 0),
        ];
        assert_eq!(parts(&accesses, false, &forms), expected);
    }

    #[test]
    fn the_first_may_be_said_by_the_beginning() {
        let accesses = ACCESSES.map(|(instruction, address)| access(instruction, address));
        let expected = [
            (0, None, 0xff0),
            (2, Some(0), 0),
            (4, Some(0), 8),
            (6, Some(1), 0),
        ];
        assert_eq!(parts(&accesses, true, &[form(6)]), expected);
    }

    #[test]
    fn one_that_ended_early_has_nothing_beyond() {
        let accesses = ACCESSES.map(|(instruction, address)| access(instruction, address));
        assert_eq!(parts(&accesses, false, &[]), [(0, None, 0xff0)]);
        let expected = [(0, None, 0xff0), (2, Some(0), 0), (4, Some(0), 8)];
        assert_eq!(parts(&accesses, true, &[]), expected);
    }

    #[test]
    fn an_access_from_one_that_is_none_is_left_out() {
        let wild = Address::From {
            access: 7,
            distance: 0,
        };
        assert_eq!(
            parts(&[access(3, wild)], false, &[form(1)]),
            [(1, Some(1), 0)]
        );
    }
}
