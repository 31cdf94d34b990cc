//! Tests of imports and exports.

mod branches_for_bolt;
mod dynamorios_rules;
mod exported;
mod exported_records_keep_dynamorios_rules;
mod folders_of_dynamorio_are_read;
mod packed_records;
mod random_records_are_read_or_refused;
mod random_traces_come_back;
mod records_of_champsim_are_read;
mod records_of_dynamorio_are_read;
mod text_of_lackey_is_read;

use crate::streams;
