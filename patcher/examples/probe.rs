//! probe
use std::collections::BTreeMap;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let only: Option<Vec<u64>> = std::env::args().nth(2).map(|f| {
        std::fs::read_to_string(f)
            .unwrap()
            .lines()
            .map(|l| u64::from_str_radix(l.trim().trim_start_matches("0x"), 16).unwrap())
            .collect()
    });
    let t = std::time::Instant::now();
    let a = corehop_patcher::Analysis::of(path.as_ref()).unwrap();
    let (mut all, mut ok, mut why) = (0, 0, BTreeMap::<String, usize>::new());
    let mut fl: BTreeMap<String, String> = BTreeMap::new();
    for f in a.functions() {
        if only.as_ref().is_some_and(|o| !o.contains(&f.offset)) {
            continue;
        }
        if a.entry_reason(f.offset).is_some() {
            continue;
        }
        all += 1;
        match a.return_reason(f.offset).map_or(Ok(()), Err) {
            Ok(()) => ok += 1,
            Err(e) => {
                let k: String = e
                    .split_whitespace()
                    .filter(|w| !w.contains("0x"))
                    .collect::<Vec<_>>()
                    .join(" ");
                fl.entry(k.clone()).or_insert(format!("{:?} {e}", f.symbol));
                *why.entry(k).or_default() += 1
            }
        }
    }
    println!("{path}: {ok}/{all} known; {:?}", t.elapsed());
    for (k, n) in &why {
        println!("   {n} {k}   e.g. {}", fl[k]);
    }
}
