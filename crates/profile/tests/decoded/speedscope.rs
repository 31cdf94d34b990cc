//! Reads speedscope's format, as its `file-format-schema.json` defines it.

use super::{Entry, plain};
use serde_json::Value;

pub fn read(file: &Value) -> Vec<Entry> {
    let schema = "https://www.speedscope.app/file-format-schema.json";
    assert_eq!(file["$schema"], schema);
    let frames = file["shared"]["frames"].as_array().unwrap();
    let mut entries = Vec::new();
    for profile in file["profiles"].as_array().unwrap() {
        assert_eq!(
            (&profile["type"], &profile["unit"]),
            (&"sampled".into(), &"none".into())
        );
        let of = |key: &str| profile[key].as_array().unwrap();
        let (samples, weights) = (of("samples"), of("weights"));
        assert_eq!(samples.len(), weights.len());
        let weights = weights.iter().map(|weight| weight.as_u64().unwrap());
        assert_eq!(profile["startValue"], 0);
        assert_eq!(profile["endValue"], weights.clone().sum::<u64>());
        for (sample, value) in samples.iter().zip(weights) {
            let numbers = sample.as_array().unwrap().iter();
            let frames = numbers.map(|number| &frames[number.as_u64().unwrap() as usize]);
            let mut frames: Vec<&Value> = frames.collect();
            let line = frames.pop_if(|innermost| innermost["line"].is_u64());
            let place = line.map(|line| {
                let file = line["file"].as_str().unwrap().to_owned();
                let (number, name) = (line["line"].as_u64().unwrap(), &line["name"]);
                assert_eq!(*name, format!("{}:{number}", super::file_name(&file)));
                (file, number)
            });
            let names = frames
                .iter()
                .map(|frame| frame["name"].as_str().unwrap().to_owned());
            let mut names: Vec<String> = names.collect();
            entries.push(Entry {
                module: names.remove(0),
                functions: names,
                place,
                figure: plain(profile["name"].as_str().unwrap()),
                value,
            });
        }
    }
    entries
}
