//! Rule 2.6: the raw key appears in no event, error body, metric or `Debug` output.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_http::Policy;
use tower::Service;
use tracing::Level;

use crate::faulty::{Fault, Faulty};
use crate::support::{answer, order, text};

/// Everything that was logged.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn the_raw_key_stays_in_the_request() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // For all threads: what other tests log goes along, and holds no secret of this test's.
    tracing::subscriber::set_global_default(subscriber).expect("no other test sets one");

    let app = Faulty::app(Policy::default());
    let mut shown = String::new();
    let secret = "secret-4711";
    let keys = [
        secret.to_owned(),
        secret.to_owned(),
        format!("{secret}-failing"),
        format!("{secret} x"),
        format!("\"{secret}"),
        format!("{secret}{}", "k".repeat(200)),
    ];
    for key in &keys {
        for (verb, fault) in [("commit", Fault::Hang), ("release", Fault::LostBefore)] {
            app.store.fail(verb, fault);
        }
        let answer = app.send(order(key), if key.ends_with("failing") { 500 } else { 201 }).await;
        shown += &format!("{:?}", answer.headers());
        shown += &text(answer).await;
    }
    app.store.fail("acquire", Fault::LostAfter);
    app.order(&format!("{secret}-lost"), 201).await;
    let mut service = app.service(|_| async { Ok(answer(201)) });
    let response = service.call(order(secret));
    shown += &format!("{service:?} {response:?} {:?}", app.layer);
    tokio::time::sleep(Duration::from_secs(5)).await;
    shown += &app.export();

    let log = String::from_utf8(log.0.lock().expect("not poisoned").clone()).expect("text");
    for event in ["granted", "commit failed", "release failed", "acquire failed", "address="] {
        assert!(log.contains(event), "{event} is not in {log}");
    }
    assert!(!log.contains(secret), "{log}");
    assert!(!shown.contains(secret), "{shown}");
}
