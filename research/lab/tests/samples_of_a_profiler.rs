//! The output of `perf script` is read sample by sample, and a line in another format is reported
//! by its number. `samples/mariadbd.perf` is synthetic, in the layout of perf's manual.
//! `samples/redis-page-faults.perf` was recorded by perf 6.1 from redis-server. It contains page
//! faults, which also have an address, because not every machine has counters of loads.

use corehop_lab::characterize::classes::Class;
use corehop_lab::characterize::perf_script::{Sampled, read};

const MARIADBD: &[u8] = include_bytes!("samples/mariadbd.perf");

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn of(text: &[u8]) -> Result<Sampled, String> {
    read(text, "perf.txt", &names(&["parse_sql"])).map_err(|error| error.to_string())
}

#[test]
fn a_profile_tells_classes_threads_and_what_it_dropped() {
    let asked = names(&["parse_sql", "dispatch_command", "nothing"]);
    let found = read(MARIADBD, "perf.txt", &asked).unwrap();
    assert_eq!((found.samples, found.dropped, found.threads), (5, 2, 2));
    assert_eq!(found.within, [3, 5, 0]);
    assert_eq!(found.totals.data.lines, 3);
    let class = |lines, accesses, stores| Class {
        lines,
        accesses,
        stores,
        ..Class::default()
    };
    let parse = found.classes[0].data;
    assert_eq!(parse.of(false, true), class(1, 3, 1));
    assert_eq!(parse.all(), parse.of(false, true));
    let dispatch = found.classes[1].data;
    assert_eq!(dispatch.of(false, false), class(2, 2, 1));
    assert_eq!(dispatch.of(false, true), class(1, 3, 1));
    assert_eq!(found.classes[2], Default::default());
}

#[test]
fn what_perf_script_does_not_print_is_named_by_its_line() {
    let head = "1240 cpu/mem-loads/P: 7f00 \n\t  55 f\n\n";
    for (line, problem) in [
        (
            "mariadbd cpu/mem-loads/P: 7f00",
            "neither a thread's number nor a call",
        ),
        ("1240 7f00", "no event, which ends with a colon"),
        (
            "1240 cycles:P: 7f00",
            "the event is neither of loads nor of stores",
        ),
        (
            "1240 cpu/mem-loads/P: parse_sql",
            "no address after the event",
        ),
        ("1240 cpu/mem-loads/P:", "no address after the event"),
        ("\t  55 parse_sql", "a call of no sample"),
    ] {
        let said = of(format!("{head}{line}\n").as_bytes()).unwrap_err();
        assert!(
            said.starts_with(&format!("perf.txt: line 4: {problem}")),
            "{said}"
        );
    }
    let said = of(b"1240 cpu/mem-loads/P: 7f00\n\tparse_sql\n").unwrap_err();
    assert_eq!(said, "perf.txt: line 2: a call begins with its address");
    let said = of(&[b'x'; 1 << 21]).unwrap_err();
    assert!(
        said.starts_with("perf.txt: line 1: longer than any line"),
        "{said}"
    );
}

#[test]
fn a_profile_without_addresses_or_calls_is_refused() {
    let said = of(b"1240 cpu/mem-loads/P: 0\n\t 55 f\n\n1240 cpu/mem-loads/P: 7f00\n").unwrap_err();
    assert_eq!(
        said,
        "perf.txt: no sample of a load or a store has an address and calls, of 2"
    );
}

#[test]
fn a_name_of_c_plus_plus_is_found_with_its_arguments_and_without() {
    let text = b"7/12 cpu/mem-stores/P: 7f00\n\t 55 A::f(int, B (*)[2]) const+0x1f (/a (b)/c)\n";
    for (name, within) in [("A::f", 1), ("A::f(int, B (*)[2]) const", 1), ("f", 0)] {
        let found = read(&text[..], "perf.txt", &names(&[name])).unwrap();
        assert_eq!(found.within, [within], "{name}");
    }
}

#[test]
fn what_perf_recorded_is_read_with_the_variables_that_it_names() {
    let recorded = include_str!("samples/redis-page-faults.perf");
    let refused = of(recorded.as_bytes()).unwrap_err();
    let expected = "perf.txt: line 1: the event is neither of loads nor of stores";
    assert!(refused.starts_with(expected), "{refused}");
    // A page fault at the first access serves as a store.
    let recorded = recorded.replace("page-faults:", "cpu/mem-stores/P:");
    let recorded = recorded.replacen("[unknown]", "vtable for a::b", 1);
    let asked = names(&["dictAddRaw", "createObject"]);
    let found = read(recorded.as_bytes(), "perf.txt", &asked).unwrap();
    assert_eq!((found.samples, found.dropped, found.threads), (40, 0, 1));
    assert_eq!(found.within, [10, 30]);
}

#[test]
fn functions_of_c_plus_plus_that_perf_recorded_are_counted() {
    let recorded = include_str!("samples/names.perf").replace("page-faults:", "cpu/mem-stores/P:");
    let asked = names(&[
        "(anonymous namespace)::parse",
        "Parser::operator()",
        "Map<int, char>::get",
        "handle",
        "t:handle",
        "libc.so.6:handle",
    ]);
    let found = read(recorded.as_bytes(), "perf.txt", &asked).unwrap();
    assert_eq!((found.samples, found.dropped, found.threads), (8, 0, 1));
    assert_eq!(found.within, [4, 4, 4, 3, 3, 0]);
}

#[test]
fn functions_that_were_inlined_are_counted() {
    let text = "1240 cpu/mem-loads/P: 7f00\n\t55 parse (inlined)\n\t55 handle+0x24 (/bin/t)\n\n\
                1240 cpu/mem-stores/P: 7f00\n\t55 parse+0x10\n\t55 other\n";
    let asked = names(&["parse", "handle", "parse (inlined)"]);
    let found = read(text.as_bytes(), "perf.txt", &asked).unwrap();
    assert_eq!(found.within, [2, 1, 0]);
}
