//! An order service that never books twice, whatever is killed when: the order and the record of
//! its key are committed by one transaction.
//!
//! ```text
//! ORDERS_URL=postgres://postgres@127.0.0.1/postgres \
//!     cargo run -p leasehold-sql --features postgres --example orders
//! curl -i -H 'Idempotency-Key: k-1' -d '{"item":"tea","quantity":2}' http://ADDRESS/orders
//! ```

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use leasehold::{Admission, Digester, Lease, LeaseStore, Outcome, ReleaseError, Terms, Ttl};
use leasehold_sql::{CommitInError, GuardError, SqlConfig, SqlStore, is_conflict};
use serde::Deserialize;
use sqlx::PgPool;
use thiserror::Error;
use tokio::net::TcpListener;

/// How long a key is kept with its answer.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a transaction is begun again that has met another. Arbitrary.
const TRIES: u32 = 5;

#[derive(Deserialize)]
struct Order {
    item: String,
    quantity: i32,
}

struct Service {
    store: SqlStore,
    pool: PgPool,
    digester: Digester,
    /// Longest time an order should take. Another may run the request once it is over, unless the
    /// order's transaction is open.
    lease: Ttl,
    kept: Ttl,
    /// The step at which to stop, for a test that kills the service there.
    stop_at: Option<String>,
}

/// Why an order was not booked.
#[derive(Debug, Error)]
enum BookError {
    #[error("the lease was not guarded")]
    Guard(#[from] GuardError),
    #[error("the lease was not committed")]
    Commit(#[from] CommitInError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl BookError {
    fn is_retryable(&self) -> bool {
        match self {
            Self::Guard(error) => error.is_retryable(),
            Self::Commit(error) => error.is_retryable(),
            Self::Database(error) => is_conflict(error),
        }
    }
}

impl Service {
    /// Books an order by one transaction, with the record of its key.
    async fn book(&self, lease: &mut Lease, order: &Order) -> Result<Bytes, BookError> {
        // An error drops the transaction, which rolls it back.
        let mut tx = self.pool.begin().await?;
        let guard = self.store.guard_in(&mut tx, lease).await?;
        self.step("guarded").await;
        let number: i64 = sqlx::query_scalar(
            "INSERT INTO orders (item, quantity) VALUES ($1, $2) RETURNING number",
        )
        .bind(&order.item)
        .bind(order.quantity)
        .fetch_one(&mut *tx)
        .await?;
        self.step("inserted").await;
        let answer = Bytes::from(format!("{{\"order\":{number}}}\n"));
        self.store.commit_in(&mut tx, guard, Some(Outcome::new(answer.clone())), self.kept).await?;
        self.step("recorded").await;
        tx.commit().await?;
        self.step("committed").await;
        Ok(answer)
    }

    /// Books an order with a lease, again where that is due, and answers.
    async fn run(&self, mut lease: Lease, order: &Order) -> Response {
        let mut tries = 1;
        // Ends: after so many tries, or with the first end that is not another's doing.
        let error = loop {
            match self.book(&mut lease, order).await {
                Ok(answer) => return (StatusCode::CREATED, answer).into_response(),
                Err(error) if error.is_retryable() && tries < TRIES => tries += 1,
                Err(error) => break error,
            }
        };
        // The record knows how the transaction ended, also where this process does not: a release
        // is refused if it was committed, and the client's next try is answered by the order.
        match self.store.release(&mut lease).await {
            Ok(()) => eprintln!("an order was not booked: {error}"),
            Err(ReleaseError::Superseded) => eprintln!("an order has ended unheard: {error}"),
            Err(release) => eprintln!("an order was not booked: {error}; {release}"),
        }
        later("the order was not booked: try again")
    }

    /// Stops here for good, if it was told so.
    async fn step(&self, name: &str) {
        if self.stop_at.as_deref() == Some(name) {
            println!("stopped at {name}");
            pending().await
        }
    }
}

async fn order(State(service): State<Arc<Service>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(key) = headers.get("idempotency-key") else {
        return (StatusCode::BAD_REQUEST, "an order needs an Idempotency-Key\n").into_response();
    };
    let Ok(order) = serde_json::from_slice::<Order>(&body) else {
        return (StatusCode::BAD_REQUEST, "an order has an item and a quantity\n").into_response();
    };
    let address = service.digester.address(&[b"orders", key.as_bytes()]);
    let fingerprint = service.digester.fingerprint(&[&body]);
    let terms = Terms::new(service.lease).fingerprint(fingerprint);
    let attempt = terms.attempt;
    match service.store.acquire(address, terms).await {
        Ok(Admission::Granted(lease)) => {
            service.step("acquired").await;
            // A task of its own, so that a client that goes away cuts no order short.
            let task = tokio::spawn(async move { service.run(lease, &order).await });
            task.await.unwrap_or_else(|_| later("the order has ended unheard: try again"))
        }
        Ok(Admission::InFlight { remaining }) => {
            let seconds = remaining.as_secs() + 1;
            let wait = [("retry-after", seconds.to_string())];
            (StatusCode::CONFLICT, wait, "the order is being booked\n").into_response()
        }
        Ok(Admission::Completed { outcome, .. }) => {
            let answer = outcome.map(Outcome::into_bytes).unwrap_or_default();
            let replayed = [("idempotency-replayed", "true")];
            (StatusCode::CREATED, replayed, answer).into_response()
        }
        Ok(Admission::Mismatch) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "the key is another order's\n").into_response()
        }
        Err(error) => {
            eprintln!("an order was not admitted: {error}");
            // At worst the lease that may have been granted ends by itself.
            let _ = service.store.abandon(address, attempt).await;
            later("the order was not admitted: try again")
        }
    }
}

fn later(reason: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "1")], reason).into_response()
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("ORDERS_URL")?;
    let lease = match std::env::var("ORDERS_LEASE_MS") {
        Ok(millis) => Duration::from_millis(millis.parse()?),
        Err(_) => Duration::from_secs(30),
    };
    let pool = PgPool::connect(&url).await?;
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS orders (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            item TEXT NOT NULL,
            quantity INTEGER NOT NULL
        )",
    )
    .execute(&pool)
    .await?;
    let store = SqlStore::connect(SqlConfig::new(url).auto_migrate(true)).await?;
    let service = Service {
        store,
        pool,
        digester: Digester::plain(),
        lease: Ttl::new(lease)?,
        kept: Ttl::new(KEPT)?,
        stop_at: std::env::var("ORDERS_STOP_AT").ok(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let routes = Router::new().route("/orders", post(order)).with_state(Arc::new(service));
    axum::serve(listener, routes).await?;
    Ok(())
}
