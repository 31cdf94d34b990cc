//! What `corehop run` passes to the runtime of a program that it starts: the additional contents of
//! a patched copy of each of the plan's files, to be installed in memory.
//!
//! The distance of the code from its module is unknown before the loader has placed both. So the
//! code is laid out twice, as if it followed the module at two distances. Every word that differs
//! is a distance to the module, and the runtime adjusts only these words. No other information
//! about the instructions is necessary. The layout is that of `runtime/start/in_memory.c`.

use crate::Error;
use crate::analyse::{Analysis, DYNAMIC};
use crate::apply::choose::{Chosen, ChosenFile, choose};
use crate::apply::privileges::privileges;
use crate::elf::abi::{PT_INTERP, PT_LOAD};
use crate::elf::{Image, Whole};
use crate::emit::{Code, Table, Unfit};
use corehop_plan::Plan;
use corehop_support::whole_file;
use std::path::Path;

const PAGE: u64 = 4096;
/// Each byte of any 32-bit distance changes when this is subtracted.
const STEP: u64 = 0x0101_0110;
const DISTANCE_SIZE: usize = 4;
/// Bytes of the original that the runtime compares at each jump: the most that can be moved.
const COMPARED: usize = 19;
const HEADER_SIZE: usize = 8;

/// Everything that the runtime needs to hook `program` by the plan, once it is started.
///
/// # Errors
/// [`Error::Refused`] with the reason when the plan is not for this program, or cannot be applied;
/// [`Error::Read`] and [`Error::Input`] for the program and the libraries that the plan names.
pub(super) fn parts_of(program: &Path, plan: &Plan) -> Result<Vec<u8>, Error> {
    let image = preloading(program)?;
    let is_in_plan = |id: &String| plan.functions.iter().any(|f| f.build_id == *id);
    let own = image.build_id.as_ref().filter(|id| is_in_plan(id));
    let given: Vec<_> = own.map(|_| program.to_path_buf()).into_iter().collect();
    let chosen = choose(&given, plan)?;
    let other = chosen.files.iter().find(|file| !file.analysis.is_library());
    if let Some(other) = other.filter(|file| file.analysis.build_id() != own.map(String::as_str)) {
        let path = other.analysis.image.path.display();
        let reason = format!("the plan is for another program or build, {path}: start that");
        return Err(Error::refused(program, reason));
    }
    if chosen.files.is_empty() {
        let reason = "the plan names no function to hook: search one with `corehop partition`";
        return Err(Error::refused(program, reason));
    }
    render(&chosen).map_err(|(path, unfit)| Error::refused(&path, unfit))
}

/// What the runtime needs if `program` gets no hooks and only posts system calls.
///
/// # Errors
/// Those of [`parts_of`], except those of a plan.
pub(super) fn no_parts(program: &Path) -> Result<Vec<u8>, Error> {
    preloading(program)?;
    Ok(header(0))
}

/// A program whose loader preloads the runtime.
fn preloading(program: &Path) -> Result<Image, Error> {
    let bytes = whole_file::bytes(program).map_err(Error::reading(program))?;
    let image = Image::new(bytes, program)?;
    privileges(program)?;
    if image.segment(PT_INTERP).is_none() {
        let reason =
            format!("statically linked: there is no loader to bring in the runtime; {DYNAMIC}");
        return Err(Error::refused(program, reason));
    }
    Ok(image)
}

fn header(modules: usize) -> Vec<u8> {
    let mut bytes = Vec::from(corehop_runtime::ABI.to_le_bytes());
    bytes.extend((modules as u32).to_le_bytes());
    bytes
}

type Failed = (std::path::PathBuf, Unfit);

fn render(chosen: &Chosen) -> Result<Vec<u8>, Failed> {
    let mut parts = Vec::new();
    for (index, file) in chosen.files.iter().enumerate() {
        let part = Part::new(file, &chosen.whole(index));
        parts.push(part.map_err(|unfit| (file.analysis.image.path.clone(), unfit))?);
    }
    let mut bytes = header(parts.len());
    let described = parts.first().map_or(0, |part| part.describe([0; 3]).len());
    let mut end = HEADER_SIZE + parts.len() * described;
    let mut contents = Vec::new();
    for part in &parts {
        let mut places = [0; 3];
        for (place, piece) in places
            .iter_mut()
            .zip([&part.code, &part.jumps, &part.distances])
        {
            *place = end as u64;
            contents.extend(piece);
            let size = piece.len().next_multiple_of(8);
            contents.resize(contents.len() + size - piece.len(), 0);
            end += size;
        }
        bytes.extend(part.describe(places));
    }
    bytes.extend(contents);
    Ok(bytes)
}

/// One module's share.
struct Part {
    /// The address at which the code would follow the module.
    address: u64,
    /// The slot's page, code in whole pages, tables.
    code: Vec<u8>,
    /// Distance from the code's beginning to the tables.
    tables: u64,
    jumps: Vec<u8>,
    distances: Vec<u8>,
    note: Vec<u8>,
}

impl Part {
    fn new(file: &ChosenFile, whole: &Whole) -> Result<Part, Unfit> {
        let analysis = &file.analysis;
        let loaded = analysis.image.segments.iter().filter(|s| s.kind == PT_LOAD);
        let end = loaded.map(|s| s.address + s.memory_size.max(s.file_size));
        let address = end.max().unwrap_or(0).next_multiple_of(PAGE);
        let lay_out = |address: u64| {
            let first = whole.first_hook();
            Code::new(analysis, &file.hooks, first, address + PAGE, address)
        };
        let code = lay_out(address)?;
        let distances = differences(&code.bytes, &lay_out(address + STEP)?.bytes)?;
        let tables = PAGE + (code.bytes.len() as u64).next_multiple_of(PAGE);
        let table = Table::new(&file.hooks, whole, address + tables);
        let mut bytes = vec![0; PAGE as usize];
        bytes.extend(&code.bytes);
        bytes.resize(tables as usize, 0);
        bytes.extend(&table.bytes);
        let mut jumps = Vec::new();
        for (site, trampoline) in code.jumps() {
            jumps.extend(jump(analysis, site, trampoline - address)?);
        }
        let distances = distances.iter().map(|at| at + PAGE as u32);
        Ok(Part {
            address,
            code: bytes,
            tables,
            jumps,
            distances: distances.flat_map(u32::to_le_bytes).collect(),
            note: table.note(address, whole).bytes(),
        })
    }

    /// `struct in_memory_module`, with code, jumps and distances at these places.
    fn describe(&self, [code, jumps, distances]: [u64; 3]) -> Vec<u8> {
        let words = [
            self.address,
            code,
            self.code.len() as u64,
            self.tables,
            jumps,
            (self.jumps.len() / JUMP_ENTRY_SIZE) as u64,
            distances,
            (self.distances.len() / DISTANCE_SIZE) as u64,
        ];
        let words = words.into_iter().flat_map(u64::to_le_bytes);
        words.chain(self.note.iter().copied()).collect()
    }
}

const JUMP_ENTRY_SIZE: usize = 8 + 4 + 1 + COMPARED;

/// `struct jump`.
fn jump(analysis: &Analysis, site: u64, to: u64) -> Result<Vec<u8>, Unfit> {
    let there = analysis.image.bytes_at(site).unwrap_or_default();
    let before = &there[..there.len().min(COMPARED)];
    let to = u32::try_from(to).map_err(|_| Unfit::TooMuchCode)?;
    let mut bytes = Vec::from(site.to_le_bytes());
    bytes.extend(to.to_le_bytes());
    bytes.push(before.len() as u8);
    bytes.extend(before);
    bytes.resize(JUMP_ENTRY_SIZE, 0);
    Ok(bytes)
}

/// Offsets of the 32-bit words that differ in code laid out [`STEP`] further away.
fn differences(near: &[u8], far: &[u8]) -> Result<Vec<u32>, Unfit> {
    if near.len() != far.len() {
        return Err(Unfit::DependsOnPlace(near.len().min(far.len())));
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < near.len() {
        if near[at] == far[at] {
            at += 1;
            continue;
        }
        let word = |code: &[u8]| {
            let bytes = code.get(at..at + DISTANCE_SIZE)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let moved = word(near).map(|distance| distance.wrapping_sub(STEP as u32));
        if moved.is_none() || moved != word(far) {
            return Err(Unfit::DependsOnPlace(at));
        }
        found.push(at as u32);
        at += DISTANCE_SIZE;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{PAGE, STEP, differences};
    use crate::emit::Code;
    use crate::{Analysis, Hook};
    use corehop_plan::{Destination, Mode};
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::LazyLock;

    /// A server whose every safe entry is hooked, and a library.
    static SUBJECTS: LazyLock<Vec<(Analysis, Vec<Hook>)>> = LazyLock::new(|| {
        let subject = |path| {
            let analysis = Analysis::of(Path::new(path)).unwrap();
            let safe = analysis.functions().iter().map(|f| f.offset);
            let safe = safe.filter(|&offset| analysis.unsafe_reason(offset).is_none());
            let hooks = safe.map(|offset| Hook {
                offset,
                symbol: String::new(),
                to: Destination::Core(0),
                mode: match analysis.return_reason(offset) {
                    None => Mode::Call,
                    Some(_) => Mode::Enter,
                },
            });
            let hooks = hooks.collect();
            (analysis, hooks)
        };
        let sqlite = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
        ["/usr/sbin/nginx", sqlite].map(subject).into()
    });

    /// Code as the runtime adjusts it for an address `distance` further away.
    fn moved(code: &[u8], places: &[u32], distance: u64) -> Vec<u8> {
        let mut code = code.to_vec();
        for &place in places {
            let word = &mut code[place as usize..][..4];
            let was = u32::from_le_bytes(word.try_into().unwrap());
            word.copy_from_slice(&was.wrapping_sub(distance as u32).to_le_bytes());
        }
        code
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn code_that_was_moved_is_the_code_laid_out_there(
            which in 0..2usize,
            chosen in any::<u64>(),
            steps in 0u64..0x3000_0000 / 16,
        ) {
            let (analysis, hooks) = &SUBJECTS[which];
            let chosen = chosen | 1;
            let bit = |index: usize| chosen >> (index % 64) & 1 == 1;
            let hooks = hooks.iter().enumerate().filter(|(index, _)| bit(*index));
            let hooks: Vec<Hook> = hooks.map(|(_, hook)| hook.clone()).collect();
            let lay_out = |address| Code::new(analysis, &hooks, 7, address + PAGE, address);
            let address = 0x1000_0000;
            let near = lay_out(address).unwrap().bytes;
            let places = differences(&near, &lay_out(address + STEP).unwrap().bytes).unwrap();
            // Every entry that does not end in its first bytes continues after them.
            prop_assert!(places.len() > hooks.len() / 2);
            let there = lay_out(address + steps * 16).unwrap().bytes;
            prop_assert_eq!(moved(&near, &places, steps * 16), there);
        }
    }

    #[test]
    fn code_that_differs_by_anything_else_is_refused() {
        let near = [0x90, 0x78, 0x56, 0x34, 0x12, 0x90];
        let mut far = near;
        let distance = 0x1234_5678u32.wrapping_sub(STEP as u32);
        far[1..5].copy_from_slice(&distance.to_le_bytes());
        assert_eq!(differences(&near, &far).unwrap(), vec![1]);
        far[4] ^= 1;
        assert!(differences(&near, &far).is_err());
        assert!(differences(&near, &near[1..]).is_err());
        far = near;
        far[5] = 0;
        assert!(
            differences(&near, &far).is_err(),
            "a word would end behind it"
        );
    }
}
