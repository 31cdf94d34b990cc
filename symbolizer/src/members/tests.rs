//! Members equal what the compiled program itself finds of them, byte by byte.

use super::{Members, VariableType};
use crate::SourceLines;
use crate::data::DataLayout;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// `MEMBER` prints the first byte and the size of a member. A bit field has no address, so `BITS`
/// sets it and prints which bytes have changed.
const HEAD: &str = r#"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#define MEMBER(of, path, name) \
    printf("%s %zu %zu %s\n", #of, (size_t)((char *)&of path - (char *)&of), sizeof(of path), name)
#define BITS(of, path, name) \
    do { \
        memset((void *)&of, 0, sizeof of); \
        of path = -1; \
        for (size_t byte = 0; byte < sizeof of; byte++) \
            if (((char *)&of)[byte]) printf("%s %zu 1 %s\n", #of, byte, name); \
    } while (0)
"#;

const C: &str = r#"
struct pair { short a; char b; };
typedef const volatile struct pair pair_t;
struct flags { unsigned a : 3, b : 5, : 0, c : 9; int : 7; int rest; long wide : 40; };
union number { int i; double d; };
struct empty {};
struct server {
    long clock;
    struct pair pairs[3];
    struct { int x; struct { char y; short z; }; };
    union { int whole; struct { char low, high; }; char parts[3]; };
    union number number;
    struct flags flags;
    struct pair grid[2][3];
    volatile char name[10];
    struct empty nothing;
    void (*call)(void);
    struct server *next;
    pair_t typed;
    enum { ONE } one;
    _Bool is_it;
    double _Complex wave;
};
struct server server;
struct pair table[5];
int plain[4];
union number lone;
struct { int n; struct pair items[]; } flexible = {2, {{1, 2}, {3, 4}}};
_Alignas(64) static struct pair hidden;
int main(void) {
    static struct pair local;
    MEMBER(server, .clock, ".clock");
    for (int i = 0; i < 3; i++) {
        MEMBER(server, .pairs[i].a, ".pairs[].a");
        MEMBER(server, .pairs[i].b, ".pairs[].b");
    }
    MEMBER(server, .x, ".x");
    MEMBER(server, .y, ".y");
    MEMBER(server, .z, ".z");
    MEMBER(server, .whole, ".whole|low|high|parts");
    MEMBER(server, .number, ".number");
    BITS(server, .flags.a, ".flags.a|b");
    BITS(server, .flags.b, ".flags.a|b");
    BITS(server, .flags.c, ".flags.c");
    MEMBER(server, .flags.rest, ".flags.rest");
    BITS(server, .flags.wide, ".flags.wide");
    for (int i = 0; i < 6; i++) {
        MEMBER(server, .grid[i / 3][i % 3].a, ".grid[][].a");
        MEMBER(server, .grid[i / 3][i % 3].b, ".grid[][].b");
    }
    MEMBER(server, .name, ".name[]");
    MEMBER(server, .call, ".call");
    MEMBER(server, .next, ".next");
    MEMBER(server, .typed.a, ".typed.a");
    MEMBER(server, .typed.b, ".typed.b");
    MEMBER(server, .one, ".one");
    MEMBER(server, .is_it, ".is_it");
    MEMBER(server, .wave, ".wave");
    for (int i = 0; i < 5; i++) {
        MEMBER(table, [i].a, "[].a");
        MEMBER(table, [i].b, "[].b");
    }
    MEMBER(flexible, .n, ".n");
    for (int i = 0; i < 2; i++) {
        MEMBER(flexible, .items[i].a, ".items[].a");
        MEMBER(flexible, .items[i].b, ".items[].b");
    }
    MEMBER(hidden, .a, ".a");
    MEMBER(hidden, .b, ".b");
    MEMBER(local, .a, ".a");
    MEMBER(local, .b, ".b");
    return plain[0] + lone.i;
}
"#;

const CPLUSPLUS: &str = r#"
struct nothing {};
struct base { int id; short code; };
struct other { long more; };
struct virtually : virtual other { int inner; };
class item : public base, nothing, public other {
public:
    static item made;
    virtual ~item() {}
    int own;
    struct { int x; } named;
private:
    static int count;
    char *secret;
    friend int main();
};
__attribute__((used)) item item::made;
int item::count;
namespace shop {
    __attribute__((used)) item stock[2];
    __attribute__((used)) virtually far;
}
template <typename T> struct box { T value; T *at; };
__attribute__((used)) box<box<int>> nested;
using shop::stock;
using shop::far;
int main() {
    item &made = item::made;
    MEMBER(made, .id, ".id");
    MEMBER(made, .code, ".code");
    MEMBER(made, .more, ".more");
    MEMBER(made, .own, ".own");
    MEMBER(made, .named.x, ".named.x");
    MEMBER(made, .secret, ".secret");
    printf("made 0 8 ._vptr.item\n");
    for (int i = 0; i < 2; i++) {
        MEMBER(stock, [i].id, "[].id");
        MEMBER(stock, [i].code, "[].code");
        MEMBER(stock, [i].more, "[].more");
        MEMBER(stock, [i].own, "[].own");
        MEMBER(stock, [i].named.x, "[].named.x");
        MEMBER(stock, [i].secret, "[].secret");
        printf("stock %d 8 []._vptr.item\n", (int)(i * sizeof made));
    }
    MEMBER(far, .inner, ".inner");
    printf("far 0 8 ._vptr.virtually\n");
    MEMBER(nested, .value.value, ".value.value");
    MEMBER(nested, .value.at, ".value.at");
    MEMBER(nested, .at, ".at");
    return 0;
}
"#;

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const BUILD_ID: &str = "0a1b2c3d";

/// Compiles a program with these options.
fn compile(folder: &TempDir, (compiler, source): (&str, &str), options: &[&str]) -> PathBuf {
    let file = match compiler {
        "g++" => "shop.cc",
        _ => "shop.c",
    };
    std::fs::write(folder.path().join(file), [HEAD, source].concat()).unwrap();
    let mut command = Command::new(compiler);
    command.current_dir(folder.path()).args(options);
    run(command.args(["-w", "-Wl,--build-id=0x0a1b2c3d", file, "-o", "shop"]));
    folder.path().join("shop")
}

/// The size in bytes and the type of each variable, by its last name.
type Variables = BTreeMap<String, (u64, VariableType)>;

/// Returns what DWARF describes.
fn described(program: &Path) -> Option<(DataLayout, Variables)> {
    let mut sources = SourceLines::default();
    let layout = sources.data(program, BUILD_ID)?;
    let types = sources.members(program, BUILD_ID, &layout)?;
    let variables = layout.symbols.iter().zip(types).map(|(symbol, of)| {
        let name = symbol.name.rsplit("::").next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        (name.to_owned(), (symbol.size_bytes, of))
    });
    let variables = variables.collect();
    Some((layout, variables))
}

fn members<'v>(variables: &'v Variables, name: &str) -> (u64, &'v Members) {
    match &variables[name] {
        (size_bytes, VariableType::Members(members)) => (*size_bytes, members),
        other => panic!("{name}: {other:?}"),
    }
}

/// Compares all bytes of all variables that the program prints.
fn compare(program: &Path) {
    let (_, variables) = described(program).unwrap();
    let mut printed = BTreeMap::<String, BTreeMap<u64, String>>::new();
    for line in run(&mut Command::new(program)).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [variable, first, size, name] = words[..] else {
            panic!("{line}");
        };
        let [first, size]: [u64; 2] = [first, size].map(|word| word.parse().unwrap());
        let bytes = printed.entry(variable.into()).or_default();
        for byte in first..first + size {
            let known = bytes.insert(byte, name.into());
            assert!(known.is_none_or(|known| known == name), "{line}");
        }
    }
    assert!(printed.len() >= 4, "{printed:?}");
    for (variable, bytes) in printed {
        let (size_bytes, members) = members(&variables, &variable);
        for byte in 0..size_bytes {
            let found = members.name(members.at(byte));
            match bytes.get(&byte) {
                Some(name) => assert_eq!(found, name, "{variable}+{byte}"),
                None => assert!(found.ends_with(".(padding)"), "{variable}+{byte}: {found}"),
            }
        }
    }
}

#[test]
fn every_byte_of_a_c_struct_has_the_member_that_c_has_there() {
    for version in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        let folder = tempfile::tempdir().unwrap();
        let options = ["-gstrict-dwarf", version];
        let program = compile(&folder, ("gcc", C), &options);
        compare(&program);
        let (_, variables) = described(&program).unwrap();
        for name in ["plain", "lone"] {
            assert_eq!(variables[name].1, VariableType::Whole, "{name}");
        }
    }
}

#[test]
fn every_byte_of_a_class_has_the_member_that_cplusplus_has_there() {
    for options in [
        &["-g"][..],
        &["-g", "-O2", "-gdwarf-4"],
        &["-g", "-flto", "-O1"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        compare(&compile(&folder, ("g++", CPLUSPLUS), options));
    }
}

/// Types with a unit of their own, and units with a file of their own.
const ELSEWHERE: [&[&str]; 6] = [
    &["-gdwarf-4", "-fdebug-types-section"],
    &["-gdwarf-5", "-fdebug-types-section"],
    &["-gdwarf-4", "-gsplit-dwarf"],
    &["-gdwarf-5", "-gsplit-dwarf"],
    &["-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section"],
    &["-gdwarf-5", "-gsplit-dwarf", "-fdebug-types-section"],
];

#[test]
fn members_come_from_units_of_types_and_from_files_of_units() {
    for options in ELSEWHERE {
        for of in [("gcc", C), ("g++", CPLUSPLUS)] {
            let folder = tempfile::tempdir().unwrap();
            compare(&compile(&folder, of, options));
        }
    }
}

/// Returns the files of units in a folder.
fn files_of_units(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|of| of == "dwo"))
        .collect()
}

#[test]
fn a_program_may_have_moved_with_its_files_and_a_file_of_another_build_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(&folder, ("gcc", C), &["-g", "-gsplit-dwarf"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("shop");
    std::fs::rename(&program, &moved).unwrap();
    let [file] = &files_of_units(folder.path())[..] else {
        panic!("one unit has one file");
    };
    let beside = elsewhere.path().join(file.file_name().unwrap());
    std::fs::rename(file, &beside).unwrap();
    compare(&moved);

    let source = format!("{C}\nint one_more;\n");
    compile(&folder, ("gcc", &source), &["-g", "-gsplit-dwarf"]);
    std::fs::rename(file, &beside).unwrap();
    let (_, variables) = described(&moved).unwrap();
    assert_eq!(variables["server"].1, VariableType::Unknown);
    std::fs::remove_file(&beside).unwrap();
    let (_, variables) = described(&moved).unwrap();
    assert_eq!(variables["server"].1, VariableType::Unknown);
}

#[test]
fn members_come_from_a_package_of_units() {
    for (version, of) in [("-gdwarf-4", ("gcc", C)), ("-gdwarf-4", ("g++", CPLUSPLUS))] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(&folder, of, &[version, "-gsplit-dwarf"]);
        let mut dwp = Command::new("dwp");
        run(dwp
            .current_dir(folder.path())
            .args(["-e", "shop", "-o", "shop.dwp"]));
        files_of_units(folder.path())
            .iter()
            .for_each(|file| std::fs::remove_file(file).unwrap());
        compare(&program);
    }
}

#[test]
fn members_come_from_the_debug_file_of_the_same_build() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(&folder, ("gcc", C), &["-g", "-gz"]);
    let debug = folder.path().join("shop.debug");
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .args([&program, &debug]));
    run(Command::new("strip").arg(&program));
    assert_eq!(described(&program), None);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run(Command::new("objcopy").arg(link).arg(&program));
    compare(&program);
    assert_eq!(
        SourceLines::default().members(&program, "ffffffff", &DataLayout::default()),
        None
    );
}

#[test]
fn a_variable_that_dwarf_does_not_describe_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "{C}\n__asm__(\".data\\n.globl odd\\n.type odd, @object\\n\
                          .size odd, 8\\nodd: .quad 1\\n.text\");\n"
    );
    let program = compile(&folder, ("gcc", &source), &["-g"]);
    let (_, variables) = described(&program).unwrap();
    assert_eq!(variables["odd"].1, VariableType::Unknown);
    members(&variables, "server");
}

/// Every kind of damage: each byte of the sections with types, changed in several ways.
#[test]
fn damaged_dwarf_has_no_members_or_others_but_ends() {
    use object::{Object, ObjectSection};
    let folder = tempfile::tempdir().unwrap();
    let program = compile(&folder, ("g++", CPLUSPLUS), &["-g"]);
    let (layout, _) = described(&program).unwrap();
    let whole = std::fs::read(&program).unwrap();
    let file = object::File::parse(&whole[..]).unwrap();
    let ranges = [".debug_info", ".debug_abbrev"].map(|name| {
        let section = file.section_by_name(name).unwrap();
        section.file_range().unwrap()
    });
    let damaged = folder.path().join("damaged");
    for (place, &(first, size)) in ranges.iter().enumerate() {
        for step in 0..150 {
            let mut bytes = whole.clone();
            let at = (first + size * step / 150) as usize;
            match step % 3 {
                0 => bytes[at] ^= 0xff,
                1 => bytes[at] = bytes[at].wrapping_add(1),
                // A reference to an entry near it, often a loop.
                _ => bytes[at..at + 4].copy_from_slice(&(at as u32 - first as u32).to_le_bytes()),
            }
            std::fs::write(&damaged, &bytes).unwrap();
            let types = super::variables(&damaged, None, &layout);
            for of in types.into_iter().flatten() {
                if let VariableType::Members(members) = of {
                    for byte in (0..4096).chain([u64::MAX]) {
                        assert!(!members.name(members.at(byte)).is_empty(), "{place} {step}");
                    }
                }
            }
        }
    }
}

#[test]
fn damaged_files_of_units_have_no_members_or_others_but_end() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-gdwarf-5", "-gsplit-dwarf", "-fdebug-types-section"];
    let program = compile(&folder, ("g++", CPLUSPLUS), &options);
    let (layout, _) = described(&program).unwrap();
    let [file] = &files_of_units(folder.path())[..] else {
        panic!("one unit has one file");
    };
    let whole = std::fs::read(file).unwrap();
    for step in 0..300 {
        let mut bytes = whole.clone();
        let at = whole.len() * step / 300;
        match step % 3 {
            0 => bytes[at] ^= 0xff,
            1 => bytes[at] = bytes[at].wrapping_add(1),
            _ => bytes.truncate(at),
        }
        std::fs::write(file, &bytes).unwrap();
        super::variables(&program, None, &layout).unwrap();
    }
}
