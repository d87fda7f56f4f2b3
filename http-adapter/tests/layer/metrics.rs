//! Section 7: every name and label is exported, at zero too, and counts what happened.

use leasehold::{LeaseStore, Namespace};
use leasehold_http::{Pattern, Policy, Routes};

use crate::support::App;

const OUTCOMES: [&str; 11] = [
    "granted",
    "in_flight",
    "duplicate",
    "replayed",
    "mismatch",
    "invalid_key",
    "too_large",
    "full",
    "store_unavailable",
    "fail_open",
    "bypassed",
];

#[tokio::test]
async fn every_counter_is_exported_at_zero_for_every_declared_namespace() {
    let other = Policy::default().namespace(Namespace::new("other").expect("valid"));
    let pattern = Pattern::parse("/other").expect("a valid pattern");
    let app = App::with_routes(Routes::new(Policy::default()).route(pattern, other));
    for namespace in ["default", "other"] {
        for outcome in OUTCOMES {
            let labels = format!("{{namespace=\"{namespace}\",outcome=\"{outcome}\"}}");
            assert_eq!(app.sample(&format!("leasehold_requests_total{labels}")), Some(0));
        }
        for verdict in ["commit", "release", "hold"] {
            let labels = format!("{{namespace=\"{namespace}\",verdict=\"{verdict}\"}}");
            assert_eq!(app.sample(&format!("leasehold_verdicts_total{labels}")), Some(0));
        }
    }
    for name in ["lease_lost_total", "commit_errors_total", "release_errors_total"] {
        assert_eq!(app.sample(&format!("leasehold_{name}")), Some(0));
    }
    for name in ["renewals_total", "running"] {
        assert_eq!(app.sample(&format!("leasehold_{name}")), Some(0));
    }
    for verb in ["acquire", "commit", "attach", "release", "abandon", "renew"] {
        assert_eq!(app.calls(verb), 0);
        for kind in ["unreachable", "no_answer", "refused", "corrupt"] {
            assert_eq!(app.store_errors(verb, kind), 0);
        }
    }
}

#[tokio::test]
async fn the_buckets_of_store_calls_go_from_a_microsecond_to_five_seconds() {
    let app = App::new(Policy::default());
    app.order("k", 201).await;
    let export = app.export();
    let bounds: Vec<f64> = export
        .lines()
        .filter_map(|line| line.strip_prefix("leasehold_store_seconds_bucket{"))
        .filter(|line| line.contains("verb=\"acquire\"") && !line.contains("+Inf"))
        .filter_map(|line| line.split("le=\"").nth(1)?.split('"').next()?.parse().ok())
        .collect();
    assert_eq!((bounds.first(), bounds.last()), (Some(&1e-6), Some(&5.0)));
    assert!(bounds.is_sorted());
    assert_eq!((app.calls("acquire"), app.calls("commit"), app.calls("release")), (1, 1, 0));
}

#[tokio::test]
async fn the_stores_usage_is_exported_once_it_was_observed() {
    let app = App::new(Policy::default());
    assert_eq!(app.sample("leasehold_entries"), None);
    assert_eq!(app.sample("leasehold_max_entries"), None);
    app.order("k", 201).await;
    app.metrics.observe_usage(app.memory.usage().expect("memory counts"));
    assert_eq!(app.sample("leasehold_entries"), Some(1));
    assert_eq!(app.sample("leasehold_max_entries"), Some(100_000));
}

#[tokio::test]
async fn a_namespace_that_no_policy_declares_has_no_counters() {
    let app = App::new(Policy::default());
    app.order("k", 201).await;
    let names: std::collections::BTreeSet<_> = app
        .export()
        .lines()
        .filter_map(|line| Some(line.split("namespace=\"").nth(1)?.split('"').next()?.to_owned()))
        .collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["default"]);
}
