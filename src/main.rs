//! The program `corehop`. All of its code is in the library.

fn main() -> std::process::ExitCode {
    corehop::run()
}
