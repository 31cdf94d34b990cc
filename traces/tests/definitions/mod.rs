//! The beginning of small traces of made-up servers: a header, a module, and functions of one
//! instruction each.

use corehop_traces::{CodeBlock, Error, Function, Header, Module, Pointer, Writer, WriterOptions};
use std::path::Path;

/// Begins a trace of a server whose requests begin at `request_at`, with one module, loaded at
/// `code`.
#[allow(dead_code)] // Not every test that shares this needs it.
pub fn begin(
    path: &Path,
    options: &WriterOptions,
    request_at: &str,
    code: u64,
) -> Result<(Writer, u32), Error> {
    begin_of(path, options, request_at, (SERVER, code))
}

/// The default module: a path and a build id.
pub const SERVER: (&str, &str) = ("/usr/bin/server", "0a1b");

/// Like [`begin`], with another module.
pub fn begin_of(
    path: &Path,
    options: &WriterOptions,
    request_at: &str,
    ((module, build_id), code): ((&str, &str), u64),
) -> Result<(Writer, u32), Error> {
    let header = Header {
        created_by: "test".into(),
        command: vec!["server".into()],
        request_at: request_at.into(),
        qemu_version: "7.2".into(),
        architecture: "x86_64".into(),
        has_address_spaces: true,
    };
    let mut writer = Writer::create(path, &header, options)?;
    let module = writer.module(&Module {
        path: module.into(),
        build_id: build_id.into(),
        load_bias: code,
        start: code,
        end: code + 4096,
    })?;
    Ok((writer, module))
}

/// Adds the code block of a function `offset` bytes into a module that is loaded at `code`.
/// `unpatchable` is why its entry cannot be patched.
pub fn function(
    writer: &mut Writer,
    at: (u32, u64),
    named: (&str, u64),
    unpatchable: Option<&str>,
) -> Result<u32, Error> {
    function_of(writer, at, named, unpatchable, 4)
}

/// Adds this many functions, `f0`, `f1` and so on, 64 bytes apart; each has the number in its name.
#[allow(dead_code)] // Not every test that shares this needs it.
pub fn functions(writer: &mut Writer, at: (u32, u64), count: u32) -> Result<(), Error> {
    for number in 0..count {
        let named = (&*format!("f{number}"), u64::from(number) * 64);
        function(writer, at, named, None)?;
    }
    Ok(())
}

/// Like [`function`], with an instruction of this size.
pub fn function_of(
    writer: &mut Writer,
    at: (u32, u64),
    named: (&str, u64),
    unpatchable: Option<&str>,
    size_bytes: u8,
) -> Result<u32, Error> {
    function_with(writer, at, named, (unpatchable, size_bytes, Vec::new()))
}

/// Like [`function_of`], with these pointers of the code block.
pub fn function_with(
    writer: &mut Writer,
    (module, code): (u32, u64),
    (name, offset): (&str, u64),
    (unpatchable, size_bytes, pointers): (Option<&str>, u8, Vec<Pointer>),
) -> Result<u32, Error> {
    let entered = writer.function(&Function {
        module,
        offset,
        size_bytes: size_bytes.into(),
        symbol: name.into(),
        name: name.into(),
        unpatchable: unpatchable.map(Into::into),
    })?;
    let block = CodeBlock {
        pointers,
        ..CodeBlock::new(code + offset, [size_bytes])
    };
    writer.code_block(&block, Some(entered))
}
