//! Who makes the table, and what a gateway says without it.

use super::super::client::Call;
use super::super::database::Table;
use super::super::new_key;
use super::super::process::{Gateway, run, run_with};
use super::super::upstream::Upstream;

/// Runs `leasehold migrate` for a table; gives what it prints and its exit code.
async fn migrate(table: &Table, more: &[&str]) -> (String, Option<i32>) {
    let arguments = [&["migrate", "--store", &table.url, "--table", &table.name], more].concat();
    let output = run(&arguments, &[]).await;
    let told = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    (String::from_utf8(told).expect("text"), output.status.code())
}

/// Fails unless a gateway refuses to start and says what to do.
async fn refuses_without_its_table(table: &Table) {
    let settings = table.bare_settings("auto-migrate = false");
    let text = format!("listen = \"127.0.0.1:0\"\n[idempotency]\n{settings}");
    let refused = run_with("serve", &text).await;
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{table:?}: {errors}");
    let last = errors.lines().last().unwrap_or_default();
    assert!(last.starts_with("leasehold: idempotency.store: "), "{errors}");
    assert!(last.contains("`leasehold migrate`") && last.contains("auto-migrate"), "{errors}");
    assert!(!last.contains(&table.url), "{errors}");
}

async fn works_with_its_table(table: &Table) {
    let upstream = Upstream::start().await;
    let settings = table.bare_settings("auto-migrate = false\nstore-timeout = \"10s\"");
    let gateway = Gateway::start(upstream.address, &settings).await;
    assert_eq!(Call::post("/orders", &new_key()).send(gateway.address).await.status, 201);
}

#[tokio::test]
async fn a_missing_table_is_refused_with_the_remedy_and_made_by_migrate() {
    for table in Table::each() {
        refuses_without_its_table(&table).await;
        let made = (format!("{}: version 1\n", table.name), Some(0));
        assert_eq!(migrate(&table, &[]).await, made, "{table:?}");
        let nothing = (format!("{}: nothing to do\n", table.name), Some(0));
        assert_eq!(migrate(&table, &[]).await, nothing, "{table:?}");
        works_with_its_table(&table).await;
    }
}

#[tokio::test]
async fn printed_migrations_may_be_applied_by_hand() {
    for table in Table::each_on_a_server() {
        let (printed, code) = migrate(&table, &["--print"]).await;
        assert_eq!(code, Some(0), "{printed}");
        refuses_without_its_table(&table).await;
        table.server().ask(&printed);
        works_with_its_table(&table).await;
    }
}

#[tokio::test]
async fn only_sqlite_makes_its_table_by_default() {
    for table in Table::each() {
        let Some(file) = table.file() else {
            let settings = table.bare_settings("");
            let text = format!("listen = \"127.0.0.1:0\"\n[idempotency]\n{settings}");
            assert_eq!(run_with("serve", &text).await.status.code(), Some(2), "{table:?}");
            continue;
        };
        let upstream = Upstream::start().await;
        let gateway = Gateway::start(upstream.address, &table.bare_settings("")).await;
        assert_eq!(Call::post("/orders", &new_key()).send(gateway.address).await.status, 201);
        assert!(file.is_file());
    }
}

#[tokio::test]
async fn a_store_without_tables_has_nothing_to_migrate() {
    for store in ["memory:", "redis://127.0.0.1:1"] {
        for more in [&[][..], &["--print"]] {
            let output = run(&[&["migrate", "--store", store], more].concat(), &[]).await;
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{errors}");
            assert!(errors.starts_with("leasehold: idempotency.store: "), "{errors}");
        }
    }
    let wrong = run(&["migrate", "--store", "sqlite:x", "--table", "a b", "--print"], &[]).await;
    let errors = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{errors}");
    assert!(errors.starts_with("leasehold: idempotency.table: "), "{errors}");
    assert!(errors.contains("--table"), "{errors}");
}
