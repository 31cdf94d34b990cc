//! Programs that pad elements, and align them to lines.

use super::{Program, predicts, saves};

#[test]
fn padding_of_counters_that_threads_share_falsely() {
    let program = Program {
        language: "c",
        source: "
#define THREADS 4
#ifdef FIXED
struct counter { _Alignas(64) volatile long count; };
#else
struct counter { volatile long count; };
#endif
struct counter counters[16 * THREADS] __attribute__((aligned(4096)));
void serve(long own) {
    for (int i = 0; i < 16; i++) counters[i * THREADS + own].count++;
}
",
        what_if: "
[[change]]
object = \"counters\"
element_bytes = 8
pad_to_bytes = 64
align_bytes = 64
",
        objects: [&["counters"], &["counters"]],
    };
    saves(0, predicts(&program));
}

#[test]
fn padding_of_the_ends_of_queues_in_cpp() {
    let program = Program {
        language: "c++",
        source: "
#define THREADS 2
#ifdef FIXED
struct alignas(64) end { volatile long position; };
#else
struct end { volatile long position; };
#endif
struct queue { end ends[2]; };
alignas(4096) queue queues[32];
extern \"C\" void serve(long own) {
    for (auto &queue : queues) queue.ends[own].position = queue.ends[own].position + 1;
}
",
        what_if: "
[[change]]
object = \"queues\"
element_bytes = 8
pad_to_bytes = 64
align_bytes = 64
",
        objects: [&["queues"], &["queues"]],
    };
    saves(1, predicts(&program));
}

#[test]
fn alignment_of_records_that_span_lines() {
    let program = Program {
        language: "c",
        source: "
#ifdef FIXED
struct record { _Alignas(64) long fields[6]; };
#else
struct record { long fields[6]; };
#endif
struct record records[512] __attribute__((aligned(4096)));
volatile long sum;
void serve(long own) {
    unsigned at = 1;
    for (int i = 0; i < 512; i++) {
        at = (at * 165 + 7) % 512;
        sum = sum + records[at].fields[0] + records[at].fields[5];
    }
}
",
        what_if: "
[[change]]
object = \"records\"
element_bytes = 48
pad_to_bytes = 64
align_bytes = 64
",
        objects: [&["records"], &["records"]],
    };
    saves(0, predicts(&program));
}

#[test]
fn padding_of_the_rows_of_a_matrix() {
    let program = Program {
        language: "c",
        source: "
#ifdef FIXED
enum { COLUMNS = 520 };
#else
enum { COLUMNS = 512 };
#endif
double matrix[32][COLUMNS] __attribute__((aligned(4096)));
volatile double sum;
void serve(long own) {
    for (int column = 0; column < 8; column++)
        for (int row = 0; row < 32; row++) sum = sum + matrix[row][column];
}
",
        what_if: "
[[change]]
object = \"matrix\"
element_bytes = 4096
pad_to_bytes = 4160
",
        objects: [&["matrix"], &["matrix"]],
    };
    saves(1, predicts(&program));
}
