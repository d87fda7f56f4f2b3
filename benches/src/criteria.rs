//! Reads what criterion has written about its last run.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// One bench.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Group, verb, shape and threads.
    pub id: String,
    /// Median nanoseconds of one request.
    pub ns_per_request: f64,
    /// Ends of the interval that holds the median with 95 % confidence.
    pub interval: [f64; 2],
}

/// All benches below a folder of criterion's, by id. Files that cannot be read are left out.
#[must_use]
pub fn read(folder: &Path) -> Vec<Estimate> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found
}

fn collect(folder: &Path, found: &mut Vec<Estimate>) {
    found.extend(estimate(&folder.join("new")));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if path.file_name().is_some_and(|name| name != "new" && name != "base") {
            collect(&path, found);
        }
    }
}

fn estimate(folder: &Path) -> Option<Estimate> {
    let read = |name: &str| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).ok()?).ok()
    };
    parse(&read("benchmark.json")?, &read("estimates.json")?)
}

fn parse(bench: &Value, estimates: &Value) -> Option<Estimate> {
    let requests = bench["throughput"]["Elements"].as_f64().unwrap_or(1.0);
    let median = &estimates["median"];
    let bound = |name: &str| Some(median["confidence_interval"][name].as_f64()? / requests);
    Some(Estimate {
        id: bench["full_id"].as_str()?.to_owned(),
        ns_per_request: median["point_estimate"].as_f64()? / requests,
        interval: [bound("lower_bound")?, bound("upper_bound")?],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_estimate_is_of_one_request() {
        let bench = json!({ "full_id": "retry/x/1", "throughput": { "Elements": 10 } });
        let median = json!({ "point_estimate": 500.0,
            "confidence_interval": { "lower_bound": 400.0, "upper_bound": 600.0 } });
        let found = parse(&bench, &json!({ "median": median })).expect("both are there");
        assert_eq!(found.id, "retry/x/1");
        assert!((found.ns_per_request - 50.0).abs() < 1e-9);
        assert!((found.interval[1] - 60.0).abs() < 1e-9);
        assert_eq!(parse(&bench, &json!({})), None);
    }
}
