//! The gateway's configuration over texts and variables that nobody has thought of: its own parser,
//! included as it is, since the gateway is a program and has no library.

#[path = "../../http-adapter/src/bin/leasehold/config/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the gateway uses the rest")]
mod config;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use config::{Config, ConfigError, Flags};
use proptest::prelude::*;
use proptests::cases;

/// Sets these before anything else, in a file of its own.
fn load(text: &str, variables: &[(String, String)]) -> Result<Config, ConfigError> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("config-{number}.toml"));
    fs::write(&file, text).expect("there is room for a small file");
    let flags = Flags { config: Some(file.clone()), ..Flags::default() };
    let variables = variables.iter();
    let loaded = Config::load(
        &flags,
        variables.map(|(name, value)| (OsString::from(name), OsString::from(value))),
    );
    fs::remove_file(file).expect("it was there");
    loaded
}

/// One key of `[idempotency]` with a value, as TOML has it and as a variable has it.
#[derive(Clone, Debug)]
struct Setting {
    key: &'static str,
    toml: String,
    text: String,
}

impl Setting {
    fn variable(&self) -> (String, String) {
        let name = self.key.to_uppercase().replace('-', "_");
        (format!("LEASEHOLD_IDEMPOTENCY_{name}"), self.text.clone())
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn durations() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u64..200_000).prop_map(|count| format!("{count}ms")),
        (0_u64..10).prop_map(|count| format!("{count}s")),
        (0_u64..5_000).prop_map(|count| format!("{count}d")),
        (0_u64..50, 0_u64..100).prop_map(|(hours, minutes)| format!("{hours}h {minutes}m")),
        Just("-1s".to_owned()),
        "[0-9a-z ]{0,6}",
    ]
}

/// A value as TOML has it and as a variable has it.
type Value = (String, String);

/// One of some keys with two values.
fn pairs_of(
    keys: Vec<&'static str>,
    values: impl Strategy<Value = Value> + Clone,
) -> impl Strategy<Value = [Setting; 2]> {
    (prop::sample::select(keys), values.clone(), values)
        .prop_map(|(key, one, other)| [one, other].map(|(toml, text)| Setting { key, toml, text }))
}

/// Twice the same key.
fn pairs() -> impl Strategy<Value = [Setting; 2]> {
    let spans =
        vec!["ttl", "lease-ttl", "hold-ttl", "late-grace", "store-timeout", "stuck-retention"];
    let counts = vec![
        "max-entries",
        "max-key-length",
        "max-waiters",
        "replica-connections",
        "cleanup-batch",
        "connections",
    ];
    let switches = vec!["enabled", "required", "auto-migrate", "retry-hints"];
    let names = vec!["namespace", "header-name", "replayed-header", "store", "key-syntax", "table"];
    let text = prop_oneof![
        3 => "[a-zA-Z0-9-]{0,12}",
        1 => prop::sample::select(vec!["memory:", "redis://h", "sqlite:x", "Cookie", "bare", "a.b"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    let plain = |value: String| (value.clone(), value);
    let as_text = |text: String| (quoted(&text), text);
    prop_oneof![
        4 => pairs_of(spans, durations().prop_map(as_text).boxed()),
        2 => pairs_of(counts, (-2_i64..6_000).prop_map(move |count| plain(count.to_string()))),
        2 => pairs_of(switches, any::<bool>().prop_map(move |is_on| plain(is_on.to_string()))),
        3 => pairs_of(names, text.prop_map(as_text).boxed()),
    ]
}

fn settings() -> impl Strategy<Value = Setting> {
    pairs().prop_map(|[one, _]| one)
}

/// Any lines, most of them nearly right.
fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => settings().prop_map(|setting| format!("{} = {}", setting.key, setting.toml)),
        1 => prop::sample::select(vec!["[idempotency]", "[[route]]", "path = \"/a\"", "listen = 1"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ];
    (any::<bool>(), prop::collection::vec(line, 0..8)).prop_map(|(in_table, lines)| {
        let head = if in_table { "[idempotency]\n" } else { "" };
        format!("{head}{}", lines.join("\n"))
    })
}

fn is_one_line(refusal: &ConfigError) -> bool {
    let line = refusal.to_string();
    line.contains(": ") && !line.contains(['\n', '\r'])
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(600),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_taken_or_refused_in_one_line(text in texts()) {
        if let Err(refusal) = load(&text, &[]) {
            prop_assert!(is_one_line(&refusal), "{}", refusal);
        }
    }

    #[test]
    fn what_is_taken_is_printed_so_that_it_reads_back(text in texts()) {
        if let Ok(config) = load(&text, &[]) {
            let again = load(&config.report(), &[]);
            prop_assert_eq!(again.map(|again| again.report()), Ok(config.report()));
        }
    }

    /// The same key by the same words: only the type of a refusal's origin differs.
    #[test]
    fn a_variable_says_what_the_file_says(setting in settings()) {
        let by_file = load(&format!("[idempotency]\n{} = {}", setting.key, setting.toml), &[]);
        let by_variable = load("", &[setting.variable()]);
        match (by_file, by_variable) {
            (Ok(file), Ok(variable)) => prop_assert_eq!(file, variable),
            (Err(file), Err(variable)) => {
                let key = format!("idempotency.{}", setting.key);
                prop_assert!(file.to_string().starts_with(&key), "{}", file);
                let named = variable.to_string();
                prop_assert!(named.contains(&setting.variable().0), "{}", named);
            }
            (file, variable) => prop_assert!(false, "{:?} by file, {:?}", file, variable),
        }
    }

    /// The later layer wins, whatever the earlier one said, unless that could not be read at all.
    #[test]
    fn a_variable_wins_over_the_file([one, other] in pairs()) {
        let over = load(&format!("[idempotency]\n{} = {}", one.key, one.toml), &[other.variable()]);
        let alone = load("", &[other.variable()]);
        prop_assert_eq!(over, alone);
    }
}
