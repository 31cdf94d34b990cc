//! The program `corehop`. All of it is in the library.

fn main() -> std::process::ExitCode {
    corehop::run()
}
