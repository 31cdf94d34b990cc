//! The patched program makes a call of `partition --delegate` as often as predicted.

use crate::conforming::read;
use crate::recording::Recording;
use corehop_patcher::patch;
use std::process::Command;

/// `serve` works on its data, calls `look_up` twice, which works on other data and calls itself
/// once, and continues with its own data. Each data set alone fits an L2 of 256 KiB, but both
/// together do not.
const SOURCE: &str = r#"
static volatile char own[150 << 10], others[150 << 10];
__attribute__((noinline, noclone, aligned(64))) void look_up(int again) {
    if (again) look_up(0);
    for (int i = 0; i < sizeof others; i += 64) others[i];
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}
__attribute__((noinline, aligned(64))) void serve(void) {
    for (int i = 0; i < sizeof own; i += 64) own[i];
    look_up(1);
    for (int i = 0; i < sizeof own; i += 64) own[i];
    look_up(0);
    for (int i = 0; i < sizeof own; i += 64) own[i];
}
int main(void) {
    for (int i = 0; i < 60; i++) serve();
}
"#;

#[test]
fn the_patched_program_hops_as_often_as_the_search_said() {
    let mut recording = Recording::of(SOURCE);
    recording.trace();
    let path = |name: &str| recording.folder().join(name);
    let searched = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["partition", "--delegate", "1", "--json", "-o"])
        .args([path("delegated.toml"), recording.path()])
        .output()
        .unwrap();
    assert!(searched.status.success(), "{searched:?}");
    let found = read(&["partition"], &searched.stdout);
    assert_eq!(found["delegated"]["functions"][0], "look_up");
    // Two migrations there and back; a recursive call does not migrate.
    assert_eq!(found["hops_per_request"], 4.0);
    let plan = corehop_plan::read(&path("delegated.toml")).unwrap();
    patch(&path("server"), &plan, &path("server.hop"), true).unwrap();
    let ran = Command::new(path("server.hop"))
        .env("COREHOP_BACKEND", "count")
        .env("COREHOP_STATS", path("statistics"))
        .status();
    assert!(ran.unwrap().success());
    let statistics = std::fs::read(path("statistics")).unwrap();
    assert_eq!(crate::going_back::number(&statistics, "hops"), 60 * 4);
}
