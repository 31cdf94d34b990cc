//! Opens a MariaDB connection by its protocol ("Connection phase" of MariaDB's documentation of the
//! client/server protocol): a greeting, an answer without a password, OK.

use crate::patched::Outcome;
use std::io::{Read, Write};
use std::net::TcpStream;

/// CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41 and CLIENT_SECURE_CONNECTION.
const CAPABILITIES: u32 = 0x0001 | 0x0200 | 0x8000;
const LARGEST_PACKET: u32 = 1 << 24;
const UTF8: u8 = 33;
const RESERVED: [u8; 23] = [0; 23];
const USER_WITHOUT_PASSWORD: &[u8] = b"root\0\0";
/// First byte of a packet that reports success.
const OK: u8 = 0;

/// Opens a session that accepts statements.
pub fn open(stream: &mut TcpStream) -> Outcome<()> {
    read_packet(stream)?;
    let answer = [
        &CAPABILITIES.to_le_bytes()[..],
        &LARGEST_PACKET.to_le_bytes(),
        &[UTF8],
        &RESERVED,
        USER_WITHOUT_PASSWORD,
    ]
    .concat();
    stream.write_all(&packet(1, &answer))?;
    match read_packet(stream)?.first() {
        Some(&OK) => Ok(()),
        _ => Err("mariadbd did not let us in".into()),
    }
}

/// Returns a statement in its own packet.
pub fn statement(text: &str) -> Vec<u8> {
    const COM_QUERY: u8 = 3;
    packet(0, &[&[COM_QUERY], text.as_bytes()].concat())
}

fn packet(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_le_bytes();
    [&length[..3], &[number], bytes].concat()
}

fn read_packet(stream: &mut TcpStream) -> Outcome<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let mut bytes = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
