//! The program `corehop`, all of which is in its library.

fn main() -> std::process::ExitCode {
    corehop::run()
}
