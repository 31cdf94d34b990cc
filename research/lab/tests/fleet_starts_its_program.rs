//! `corehop-lab fleet` before its Python program starts; that program is tested in `fleet/tests`.

use crate::{LAB, conforming};
use std::process::{Command, Output};

fn fleet(arguments: &[&str], program: &str) -> Output {
    let mut command = Command::new(LAB);
    command
        .arg("fleet")
        .args(arguments)
        .env("COREHOP_FLEET", program);
    command.output().expect("corehop runs")
}

#[test]
fn a_program_that_cannot_be_started_is_missing_and_the_remedy_says_what_to_install() {
    let output = fleet(&["sweep.toml"], "/nowhere/corehop-fleet");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("cannot run /nowhere/corehop-fleet"), "{said}");
    assert!(
        said.contains("`pip install distributed fsspec duckdb jinja2`"),
        "{said}"
    );
}

#[test]
fn its_exit_code_is_that_of_the_program() {
    for (program, code) in [("/bin/true", 0), ("/bin/false", 1)] {
        assert_eq!(
            fleet(&["sweep.toml"], program).status.code(),
            Some(code),
            "{program}"
        );
    }
}

#[test]
fn the_machines_are_listed_with_the_text_of_their_files() {
    let output = fleet(&["--list-machines"], "/nowhere");
    assert_eq!(output.status.code(), Some(0));
    let machines = conforming::read(&["fleet", "--list-machines"], &output.stdout);
    let machines = machines.as_object().expect("an object");
    assert_eq!(machines.len(), 11);
    for (name, text) in machines {
        let text = text.as_str().expect("a text");
        assert!(text.contains(&format!("name = \"{name}\"")), "{name}");
    }
}
