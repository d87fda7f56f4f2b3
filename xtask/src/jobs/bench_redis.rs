//! Measures the Redis store beside the raw client, on a server that the bench starts: two minutes
//! of work on a quiet machine, so CI does not do it.

use std::fs;
use std::path::Path;

use super::Done;
use super::bench::load;
use crate::command::{cargo, is_there, run};
use crate::failure::Failure;

pub(super) fn run_all(root: &Path, is_quick: bool) -> Result<Done, Failure> {
    if !is_there("redis-server") {
        return Err(Failure::new("there is no redis-server: install it"));
    }
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{}, {cores} cores, load {} before", processor(), load());
    let mut bench = cargo(root, ["bench", "-q", "-p", "leasehold-redis", "--bench", "verbs", "--"]);
    if is_quick {
        bench.arg("--quick");
    }
    run(&mut bench)?;
    println!("load {} after", load());
    Ok(Done::Passed)
}

/// What the kernel calls the processor.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    model(&text).unwrap_or("unknown processor").to_owned()
}

fn model(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_as_the_kernel_names_it() {
        let text = "processor\t: 0\nmodel name\t: Some: CPU\nmodel name\t: Other\n";
        assert_eq!(model(text), Some("Some: CPU"));
        assert_eq!(model("processor\t: 0\n"), None);
    }
}
