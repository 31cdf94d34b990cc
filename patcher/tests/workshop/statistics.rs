//! The hop statistics that a hooked program wrote.

use std::collections::BTreeMap;
use std::path::Path;

/// Statistics as the runtime wrote them.
pub struct Statistics(pub serde_json::Value);

impl Statistics {
    pub fn read(path: &Path) -> Statistics {
        let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Statistics(serde_json::from_slice(&text).unwrap())
    }

    pub fn total(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap()
    }

    fn entry(&self, symbol: &str) -> &serde_json::Value {
        let functions = self.0["functions"].as_array().unwrap();
        let found = functions.iter().find(|f| f["symbol"] == symbol);
        found.unwrap_or_else(|| panic!("no {symbol} in the statistics"))
    }

    /// Name of the file that holds a function.
    pub fn module_of(&self, symbol: &str) -> &str {
        self.entry(symbol)["module"].as_str().unwrap()
    }

    /// Calls and hops of a function.
    pub fn of(&self, symbol: &str) -> (u64, u64) {
        let number = |key: &str| self.entry(symbol)[key].as_u64().unwrap();
        (number("calls"), number("hops"))
    }

    /// One of a function's counts.
    pub fn count(&self, symbol: &str, key: &str) -> u64 {
        let functions = self.0["functions"].as_array().unwrap();
        let found = functions.iter().find(|f| f["symbol"] == symbol);
        let found = found.unwrap_or_else(|| panic!("no {symbol} in the statistics"));
        found[key]
            .as_u64()
            .unwrap_or_else(|| panic!("no {key} of {symbol}"))
    }

    /// Returns the statistics of each call at which a function hops.
    pub fn at_calls(&self, symbol: &str) -> Vec<BTreeMap<String, u64>> {
        serde_json::from_value(self.entry(symbol)["at_calls"].clone()).unwrap()
    }

    /// Sums a count over the functions with hooked ends.
    pub fn of_calls(&self, key: &str) -> u64 {
        let functions = self.0["functions"].as_array().unwrap();
        let calls = functions.iter().filter(|f| f.get("returned").is_some());
        calls.map(|f| f[key].as_u64().unwrap()).sum()
    }

    /// Fails unless every call that began has ended or is still open.
    pub fn check_balance(&self) {
        self.check_balance_within(0);
    }

    /// The same for a program with this many threads that continue while its counters are read.
    pub fn check_balance_within(&self, threads: u64) {
        let ends = ["returned", "unwound", "continued", "stayed", "open"];
        let ended: u64 = ends.iter().map(|key| self.of_calls(key)).sum();
        let calls = self.of_calls("calls");
        assert!(
            calls.abs_diff(ended) <= threads,
            "{calls} calls, {ended} ended"
        );
    }

    /// Returns the number of functions that were called.
    pub fn called(&self) -> usize {
        let functions = self.0["functions"].as_array().unwrap();
        functions.iter().filter(|f| f["calls"] != 0).count()
    }
}
