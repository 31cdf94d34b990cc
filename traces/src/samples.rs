//! The bundled samples' bytes: real traces, for a program that embeds them.
//!
//! They are statics, so a program that uses none of them does not contain their bytes.

/// MariaDB under TPC-C on one connection.
pub static MARIADB_TPCC: &[u8] = include_bytes!("../samples/mariadb-tpcc.trace");
/// MariaDB under TPC-C on four connections.
pub static MARIADB_TPCC_4: &[u8] = include_bytes!("../samples/mariadb-tpcc-4.trace");
