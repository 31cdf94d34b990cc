//! What the last execution of each code block did, access by access but for addresses.
//!
//! Every execution of a recording is compared with it, so it is packed: 12 bytes a code block and
//! 2 an access, which together stay in a second-level cache where a vector a code block would not.

use corehop_ring::word::Form;
use std::collections::HashMap;

/// By code block of the plugin's number, the shape of its last execution.
#[derive(Default)]
pub struct Latest {
    by_block: Vec<Known>,
    by_shape: HashMap<u32, Known>,
    forms: Vec<Form>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// 1 + the writer's number of the shape, or 0.
    shape: u32,
    /// Where its forms are.
    first: u32,
    count: u32,
}

impl Latest {
    /// The shape, by the writer's number, and its forms; `None` when there is no last execution.
    #[inline]
    pub fn of(&self, block: u32) -> Option<(u32, &[Form])> {
        let known = self.by_block.get(block as usize)?;
        let forms = &self.forms[known.first as usize..][..known.count as usize];
        Some((known.shape.checked_sub(1)?, forms))
    }

    /// An execution of the code block had this shape, which always has these forms.
    pub fn set(&mut self, block: u32, shape: u32, forms: impl Iterator<Item = Form>) {
        let known = self.by_shape.entry(shape).or_insert_with(|| {
            let first = self.forms.len();
            self.forms.extend(forms);
            Known {
                shape: shape + 1,
                first: first as u32,
                count: (self.forms.len() - first) as u32,
            }
        });
        let place = block as usize;
        if place >= self.by_block.len() {
            self.by_block.resize(place + 1, Known::default());
        }
        self.by_block[place] = *known;
    }
}
