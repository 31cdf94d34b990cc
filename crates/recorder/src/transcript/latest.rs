//! The last execution of each code block, with all its accesses but without addresses.
//!
//! Every execution of a recording is compared with it, so it is packed: 16 bytes per code block and
//! 2 per recorded access. This fits an L2 cache; one vector per code block would not.

use corehop_wire::elision::CompletedAccess;
use corehop_wire::ring::word::{self, Form};
use std::collections::HashMap;

/// By the plugin's number of a code block: the access template of its last execution.
#[derive(Default)]
pub struct Latest {
    by_block: Vec<Known>,
    /// By code block, access template, and whether its first word contains the first access.
    by_template: HashMap<(u32, u32, bool), Known>,
    forms: Vec<Form>,
    sources: Vec<Source>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// 1 + the writer's number of the access template, or 0; the highest bit is set if the first
    /// word contains the address of the first access.
    template: u32,
    /// First index and number of its forms and its sources.
    first_form: u32,
    first_source: u32,
    forms: u16,
    sources: u16,
}

const LEADS: u32 = 1 << 31;

/// The word of an execution from which an address is computed.
#[derive(Clone, Copy)]
pub struct Source {
    /// The distance, in the low bits; the highest bits are those of the address itself.
    distance: u64,
    word: u32,
    mask: u32,
}

impl Source {
    /// Returns the address in an execution with these words.
    #[inline(always)]
    fn address(&self, words: &[u64]) -> u64 {
        let mask = i64::from(self.mask.cast_signed()).cast_unsigned();
        let from = word::address(words[self.word as usize]) & mask;
        let sum = word::address(from.wrapping_add(self.distance));
        sum | (self.distance & !word::address(u64::MAX))
    }

    /// Returns the source of an access in an execution with these words.
    pub fn of(part: &CompletedAccess, words: &[u64]) -> Source {
        let half = part.word.map_or(0, |word| word::half(words[word as usize]));
        Source {
            distance: word::address(part.distance) | half,
            word: part.word.unwrap_or(0),
            mask: if part.word.is_some() { u32::MAX } else { 0 },
        }
    }
}

/// The accesses of an execution, and the words from which their addresses are computed.
#[derive(Clone, Copy)]
pub struct Doing<'l> {
    /// The writer's number of the access template.
    pub template: u32,
    /// The source of each access.
    pub sources: &'l [Source],
}

impl Doing<'_> {
    /// Returns the addresses in an execution with these words.
    #[inline]
    pub fn addresses(&self, words: &[u64]) -> impl ExactSizeIterator<Item = u64> {
        self.sources.iter().map(|source| source.address(words))
    }
}

impl Latest {
    /// Compares the execution at the head of `words` with the code block's last one. If they do the
    /// same, returns its accesses, its words, and the words that follow.
    #[inline]
    pub fn same<'w>(
        &self,
        block: u32,
        words: &'w [u64],
    ) -> Option<(Doing<'_>, &'w [u64], &'w [u64])> {
        let known = self.by_block.get(block as usize)?;
        let leads = known.template & LEADS != 0;
        let template = (known.template & !LEADS).checked_sub(1)?;
        let count = usize::from(known.forms);
        let (its, rest) = words.split_at_checked(1 + count)?;
        let forms = &self.forms[known.first_form as usize..][..count];
        let mut both = its[1..].iter().zip(forms);
        if rest.first().is_some_and(|&next| !word::is_execution(next))
            || leads != word::is_execution_at(its[0])
            || !both.all(|(&word, &form)| word::has_form(word, form))
        {
            return None;
        }
        let sources = &self.sources[known.first_source as usize..];
        let sources = &sources[..usize::from(known.sources)];
        Some((Doing { template, sources }, its, rest))
    }

    /// Stores that an execution of the code block, with these words, had this access template, with
    /// the accesses `parts`.
    pub fn set(&mut self, block: u32, template: u32, words: &[u64], parts: &[CompletedAccess]) {
        let leads = word::is_execution_at(words[0]);
        let known = self.by_template.entry((block, template, leads));
        let known = known.or_insert_with(|| {
            let (first_form, first_source) = (self.forms.len(), self.sources.len());
            let forms = words[1..].iter().map(|&word| word::form(word));
            self.forms.extend(forms);
            let sources = parts.iter().map(|part| Source::of(part, words));
            self.sources.extend(sources);
            Known {
                template: (template + 1) | if leads { LEADS } else { 0 },
                first_form: first_form as u32,
                first_source: first_source as u32,
                forms: (words.len() - 1) as u16,
                sources: parts.len() as u16,
            }
        });
        let place = block as usize;
        if place >= self.by_block.len() {
            self.by_block.resize(place + 1, Known::default());
        }
        self.by_block[place] = *known;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_wire::ring::Event;

    /// An execution that was left early is followed by one whose code block number looks like the
    /// missing access.
    #[test]
    fn the_next_execution_is_no_access_of_one_that_was_left() {
        let execution = Event::Execution { code_block: 3 }.encode();
        for count in 1..6 {
            let data = |place: usize| {
                let instruction = place as u16;
                let (address, size_shift, store) = (64 * place as u64, 3, false);
                Event::Data {
                    address,
                    instruction,
                    size_shift,
                    store,
                }
                .encode()
            };
            let mut words: Vec<u64> = (0..count).map(data).collect();
            words.insert(0, execution);
            let mut latest = Latest::default();
            latest.set(3, 7, &words, &[]);
            assert!(latest.same(3, &words).is_some());
            let all = [&words[..], &[execution; 5]].concat();
            assert_eq!(
                latest
                    .same(3, &all)
                    .map(|(doing, its, _)| (doing.template, its)),
                Some((7, &words[..]))
            );
            let next = Event::ExecutionAt {
                code_block: word::form(words[count]),
                address: 0,
            };
            for more in 1..6 {
                let left = [&words[..count], &[next.encode()], &all[1..more]].concat();
                assert!(latest.same(3, &left).is_none(), "{count} {more}");
            }
        }
    }
}
