//! Reads drmemtrace's files into a trace: the files alternate, and each is read to its footer.

use super::folder::Folder;
use super::input::Input;
use super::left_out::Passed;
use super::order::Order;
use super::program::Program;
use super::reading::Reading;
use crate::Writer;
use crate::convert::error::Error;
use crate::convert::unpack::Watch;
use crate::convert::{Imported, Options};
use std::io::Read;
use std::path::Path;

/// Reads `input`, compressed or not, to its footer and finishes the trace. [`Options::join`] has no
/// effect.
///
/// # Errors
/// [`Error::Broken`] for the first record that no trace can contain, and for a trace of another
/// architecture or without some accesses; [`Error::Damaged`] for a truncated file or an invalid
/// record; [`Error::Read`]; [`Error::Trace`] if the trace cannot be written.
pub fn import(
    input: impl Read,
    name: &str,
    writer: Writer,
    options: &Options,
) -> Result<Imported, Error> {
    let mut inputs = [Input::of_stream(input, name)?];
    let order = Order::of(&mut inputs, |_| {
        unreachable!("one file needs no second look")
    })?;
    let program = Program::default();
    read(
        &mut inputs,
        order,
        Reading::new(writer, options, &program, 1),
    )
}

/// Reads the file at `path`, or the folder with a file for each thread or core. `program` contains
/// the names of functions, and `watch` receives the progress.
///
/// # Errors
/// Those of [`import`]; [`Error::NoTrace`] for a folder without a trace.
pub fn import_path(
    path: &Path,
    writer: Writer,
    options: &Options,
    program: &Program,
    watch: &Watch<'_>,
) -> Result<Imported, Error> {
    let folder = match path.is_dir() {
        true => Folder::of(path)?,
        false => Folder {
            traces: vec![path.into()],
            others: 0,
        },
    };
    let traces = &folder.traces;
    let inputs = traces.iter().map(|path| Input::of_file(path, watch));
    let mut inputs: Vec<Input<'_>> = inputs.collect::<Result<_, _>>()?;
    // The first pass does not report progress, so that the total is the size of the files.
    let again = |file: usize| Input::of_file(&traces[file], &|_| Ok(()));
    let order = Order::of(&mut inputs, again)?;
    let mut reading = Reading::new(writer, options, program, inputs.len());
    reading.left_out.add(Passed::OtherFile, folder.others);
    read(&mut inputs, order, reading)
}

fn read(
    inputs: &mut [Input<'_>],
    mut order: Order,
    mut reading: Reading<'_>,
) -> Result<Imported, Error> {
    let mut last = 0;
    while let Some(file) = order.next() {
        last = file;
        let input = &mut inputs[file];
        loop {
            let Some(record) = input.take()? else {
                if !reading.is_over(file) {
                    let problem = "the file ends without a footer: it was cut off";
                    return Err(input.fault_at_end(problem));
                }
                order.end(file);
                break;
            };
            let taken = reading.take(file, record, input.taken() == 1);
            taken.map_err(|fault| input.fault(fault))?;
            if let Some(head) = input.head()?
                && order.ends_turn(record, head)
            {
                order.wait(file, head, input.taken());
                break;
            }
        }
    }
    reading.finish().map_err(|fault| inputs[last].fault(fault))
}
