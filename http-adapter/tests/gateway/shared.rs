//! What the cases of shared stores have in common: settings, readiness, the operators' commands.

use http::Method;

use super::client::{Answer, Call};
use super::process::{Gateway, run_fed};
use super::soon;

/// Lines of settings for a store.
pub(super) fn on(url: &str, more: &str) -> String {
    format!("store = \"{url}\"\n{more}")
}

/// The status of a path of the admin address.
pub(super) async fn status(gateway: &Gateway, path: &str) -> u16 {
    let admin = gateway.admin.expect("an admin address");
    Call::new(Method::GET, path).send(admin).await.status.as_u16()
}

/// Ends once the gateway is ready.
pub(super) async fn ready(gateway: &Gateway) {
    soon("readiness", async { while status(gateway, "/readyz").await != 200 {} }).await;
}

/// What a subcommand prints of a record of `POST /orders`, or else its errors; and its exit code.
pub(super) async fn ask(verb: &str, settings: &[&str], key: &str) -> (String, Option<i32>) {
    let arguments = [&[verb, "--method", "POST", "--path", "/orders"], settings].concat();
    let output = run_fed(&arguments, key).await;
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    (String::from_utf8(text).expect("text"), output.status.code())
}

/// Whether an answer is this problem.
pub(super) fn is(answer: &Answer, status: u16, kind: &str) -> bool {
    (answer.status.as_u16(), answer.kind().as_str()) == (status, kind)
}
