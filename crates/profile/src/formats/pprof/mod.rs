//! pprof, which `go tool pprof`, Grafana, and others read: a protobuf message, packed by gzip.
//!
//! Each stack is a location, with a line for each function that is inlined there, and has one
//! sample. Locations have no addresses, since a view adds up all instructions of a line.

mod message;

use super::export::Export;
use super::stacks::{Stack, file_name};
use crate::numbered::Numbered;
use corehop_plan::inert;
use corehop_traces::Module;
use flate2::Compression;
use flate2::write::GzEncoder;
use message::{Function, Line, Location, Mapping, Profile, Sample, ValueType};
use prost::Message;
use std::io::{Result, Write};

/// Writes the file.
pub(super) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&message(export).encode_to_vec())?;
    packed.finish()?;
    Ok(())
}

fn message(export: &Export<'_>) -> Profile {
    let figures = export.figures();
    let mut tables = Tables::new();
    let count = tables.string("count");
    let sample_type = figures.iter().map(|figure| ValueType {
        name: tables.string(figure.key),
        unit: count,
    });
    let sample_type: Vec<ValueType> = sample_type.collect();
    let mapping = mappings(export, &mut tables);
    let mut location = Vec::new();
    let mut sample = Vec::new();
    for (number, (stack, cost)) in (1..).zip(&export.stacks()) {
        let filename = stack.module.as_deref().map(|path| tables.string(path));
        let mut mapped = mapping.iter();
        let mapped = mapped.find(|mapped| Some(mapped.filename) == filename);
        location.push(Location {
            id: number,
            mapping_id: mapped.map_or(0, |mapping| mapping.id),
            line: lines(stack, &mut tables),
        });
        let values = figures.iter().map(|figure| figure.of(cost, export.machine));
        sample.push(Sample {
            location_id: vec![number],
            // A replay that counts more would take centuries.
            value: values
                .map(|value| i64::try_from(value).unwrap_or(i64::MAX))
                .collect(),
        });
    }
    Profile {
        default_sample_type: sample_type.first().map_or(0, |first| first.name),
        sample_type,
        sample,
        mapping,
        location,
        comment: vec![tables.string(&export.title())],
        function: tables.functions(),
        string_table: tables.strings.all().to_vec(),
    }
}

/// The modules of the trace, the program first. The names of their code are known, so pprof is not
/// to look for any.
fn mappings(export: &Export<'_>, tables: &mut Tables) -> Vec<Mapping> {
    let command = export.trace.header().command.first();
    let program = command.map(|program| file_name(program));
    let mut modules: Vec<&Module> = export.trace.modules().iter().collect();
    modules.sort_by_key(|module| Some(file_name(&module.path)) != program);
    let mapping = (1..).zip(modules).map(|(id, module)| Mapping {
        id,
        filename: tables.string(&inert(&module.path)),
        build_id: tables.string(&inert(&module.build_id)),
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
    });
    mapping.collect()
}

fn lines(stack: &Stack, tables: &mut Tables) -> Vec<Line> {
    let lines = stack.frames.iter().map(|frame| Line {
        function_id: tables.function(&frame.function, frame.file.as_deref().unwrap_or_default()),
        line: frame.line.map_or(0, i64::from),
    });
    lines.collect()
}

/// What messages refer to by number.
struct Tables {
    strings: Numbered<String>,
    /// By name and file.
    functions: Numbered<(i64, i64)>,
}

impl Tables {
    /// The first string is empty by definition.
    fn new() -> Tables {
        let mut strings = Numbered::default();
        strings.of(String::new());
        Tables {
            strings,
            functions: Numbered::default(),
        }
    }

    fn string(&mut self, text: &str) -> i64 {
        self.strings.of(text.to_owned()) as i64
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let function = (self.string(name), self.string(file));
        // 0 is none.
        self.functions.of(function) as u64 + 1
    }

    fn functions(&self) -> Vec<Function> {
        let functions = (1..).zip(self.functions.all());
        let functions = functions.map(|(id, &(name, filename))| Function {
            id,
            name,
            system_name: name,
            filename,
        });
        functions.collect()
    }
}
