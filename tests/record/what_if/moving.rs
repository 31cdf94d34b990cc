//! Programs that split members off, and that move arrays to other sets or next to each other.

use super::{Program, predicts, saves};

#[test]
fn splitting_hot_from_cold_members() {
    let program = Program {
        language: "c",
        source: "
struct hot { long key, next; };
struct cold { long rest[14]; };
#ifdef FIXED
struct hot hots[1024] __attribute__((aligned(4096)));
struct cold colds[1024] __attribute__((aligned(4096)));
#define HOT(i) hots[i]
#define COLD(i) colds[i]
#else
struct { struct hot hot; struct cold cold; } records[1024] __attribute__((aligned(4096)));
#define HOT(i) records[i].hot
#define COLD(i) records[i].cold
#endif
volatile long sum;
void serve(long own) {
    for (int i = 0; i < 1024; i++) {
        sum = sum + HOT(i).key + HOT(i).next;
        if (i % 32 == 0) COLD(i).rest[3] = sum;
    }
}
",
        what_if: "
[[change]]
object = \"records\"
element_bytes = 128
split = [{ from = 16, to = 128 }]
",
        objects: [&["records"], &["hots", "colds"]],
    };
    saves(2, predicts(&program));
}

#[test]
fn splitting_an_array_of_structs_into_two_arrays_in_cpp() {
    let program = Program {
        language: "c++",
        source: "
#ifdef FIXED
alignas(4096) int prices[4096];
alignas(4096) int stocks[4096];
#define PRICE(i) prices[i]
#define STOCK(i) stocks[i]
#else
struct item { int price, stock; };
alignas(4096) item items[4096];
#define PRICE(i) items[i].price
#define STOCK(i) items[i].stock
#endif
volatile long sum;
extern \"C\" void serve(long) {
    static int round = 0;
    for (int i = 0; i < 4096; i++) sum = sum + PRICE(i);
    if (round++ % 4 == 0)
        for (int i = 0; i < 4096; i++) STOCK(i)--;
}
",
        what_if: "
[[change]]
object = \"items\"
element_bytes = 8
split = [{ from = 4, to = 8 }]
",
        objects: [&["items"], &["prices", "stocks"]],
    };
    saves(0, predicts(&program));
}

#[test]
fn coloring_of_arrays_of_the_same_sets_in_cpp() {
    let program = Program {
        language: "c++",
        source: "
struct shifted { long gap[128]; long of[128]; };
alignas(4096) long first[128], second[128], third[128];
#ifdef FIXED
alignas(4096) shifted fourth, fifth;
#define FOURTH fourth.of
#define FIFTH fifth.of
#else
alignas(4096) long fourth[128], fifth[128];
#define FOURTH fourth
#define FIFTH fifth
#endif
extern \"C\" void serve(long) {
    for (int time = 0; time < 4; time++)
        for (int i = 0; i < 128; i++)
            FIFTH[i] = first[i] + second[i] + third[i] + FOURTH[i];
}
",
        what_if: "
[[change]]
object = \"fourth\"
color_bytes = 1024
[[change]]
object = \"fifth\"
color_bytes = 1024
",
        objects: [&["fourth", "fifth"], &["fourth", "fifth"]],
    };
    saves(0, predicts(&program));
}

#[test]
fn arrays_behind_the_one_that_they_are_used_with() {
    let program = Program {
        language: "c",
        source: "
#ifdef FIXED
struct { long first[64], fourth[64], fifth[64]; } together __attribute__((aligned(4096)));
#define FIRST together.first
#define FOURTH together.fourth
#define FIFTH together.fifth
#else
long first[64] __attribute__((aligned(4096)));
long fourth[64] __attribute__((aligned(4096)));
long fifth[64] __attribute__((aligned(4096)));
#define FIRST first
#define FOURTH fourth
#define FIFTH fifth
#endif
long second[64] __attribute__((aligned(4096)));
long third[64] __attribute__((aligned(4096)));
void serve(long own) {
    for (int time = 0; time < 4; time++)
        for (int i = 0; i < 64; i++)
            FIFTH[i] = FIRST[i] + second[i] + third[i] + FOURTH[i];
}
",
        what_if: "
[[change]]
object = \"fourth\"
behind = \"first\"
[[change]]
object = \"fifth\"
behind = \"fourth\"
",
        objects: [&["fourth", "fifth", "first"], &["together"]],
    };
    saves(0, predicts(&program));
}

#[test]
fn splitting_members_into_three_arrays_in_cpp() {
    let program = Program {
        language: "c++",
        source: "
#ifdef FIXED
alignas(4096) long keys[512];
alignas(4096) long lefts[512], rights[512];
#define KEY(i) keys[i]
#define LEFT(i) lefts[i]
#define RIGHT(i) rights[i]
#else
struct node { long key, left, right; };
alignas(4096) node nodes[512];
#define KEY(i) nodes[i].key
#define LEFT(i) nodes[i].left
#define RIGHT(i) nodes[i].right
#endif
volatile long sum;
extern \"C\" void serve(long) {
    for (int i = 0; i < 512; i++) sum = sum + KEY(i);
    for (int i = 0; i < 512; i++) sum = sum + LEFT(i);
    for (int i = 0; i < 512; i++) RIGHT(i) = sum;
}
",
        what_if: "
[[change]]
object = \"nodes\"
element_bytes = 24
split = [{ from = 8, to = 16 }, { from = 16, to = 24, array = 2 }]
",
        objects: [&["nodes"], &["keys", "lefts", "rights"]],
    };
    saves(0, predicts(&program));
}
