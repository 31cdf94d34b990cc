//! `corehop-lab schema`: the JSON Schemas of this program's output.

use clap::Args;
use clap::builder::PossibleValuesParser;
use corehop::commands::schema::{DEFINITIONS, keys, listed, printed};
use corehop::failure::Failure;
use corehop::terminal::console;

/// Print the JSON Schema of a command's JSON, or its keys, or list the schemas
#[derive(Args)]
#[command(after_help = "\
Example: corehop-lab schema
         corehop-lab schema characterize > characterize.schema.json")]
pub struct Arguments {
    /// Schema to print; default: list all
    #[arg(value_parser = PossibleValuesParser::new(NAMED.map(|(name, _)| name)))]
    name: Option<String>,
    /// List the schema\'s keys with their types and meanings, to read
    #[arg(long, requires = "name")]
    keys: bool,
}

/// Definitions that several schemas of experiments use.
const OWN: &str = include_str!("../../schemas/definitions.json");

const NAMED: [(&str, &str); 4] = [
    (
        "characterize",
        include_str!("../../schemas/characterize.json"),
    ),
    (
        "characterize-perf-script",
        include_str!("../../schemas/characterize-perf-script.json"),
    ),
    (
        "fleet-list-machines",
        include_str!("../../schemas/fleet-list-machines.json"),
    ),
    ("pollute", include_str!("../../schemas/pollute.json")),
];

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    console::print(&match &arguments.name {
        Some(name) if arguments.keys => keys(&NAMED, &[DEFINITIONS, OWN], name),
        Some(name) => printed(&NAMED, &[DEFINITIONS, OWN], name),
        None => listed(&NAMED),
    })
}
