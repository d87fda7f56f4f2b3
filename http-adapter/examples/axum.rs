//! The layer around an axum router: `cargo run -p leasehold-http --example axum`.
//!
//! ```text
//! curl -i -X POST -H 'Idempotency-Key: k-1' http://127.0.0.1:3000/orders   # 201
//! curl -i -X POST -H 'Idempotency-Key: k-1' http://127.0.0.1:3000/orders   # 409
//! ```

use std::error::Error;
use std::sync::Arc;

use axum::extract::{Extension, Path};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use leasehold::{ConfigError, MemoryConfig, MemoryStore};
use leasehold_http::{HeldLease, IdempotentLayer, Policy, Routes};
use tokio::net::TcpListener;

/// Runs at most once for each key. The token rises with every run of a key, so that another system
/// could refuse what an older run sends late.
async fn order(Extension(lease): Extension<HeldLease>) -> (StatusCode, Json<u64>) {
    (StatusCode::CREATED, Json(lease.token().get()))
}

async fn show(Path(id): Path<String>) -> String {
    format!("order {id}\n")
}

fn app() -> Result<Router, ConfigError> {
    let store = Arc::new(MemoryStore::new(MemoryConfig::default())?);
    let idempotent = IdempotentLayer::new(store, Routes::new(Policy::default()));
    // Around the whole router, so that the layer sees each path as it was sent.
    Ok(Router::new()
        .route("/orders", post(order))
        .route("/orders/{id}", get(show))
        .layer(idempotent))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app()?).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn an_order_is_made_once_and_shown_without_a_key() {
        let app = app().expect("a valid configuration");
        let order = |key| {
            let request = Request::post("/orders").header("idempotency-key", key);
            request.body(Body::empty()).expect("a valid request")
        };
        let status = async |request: Request<Body>| {
            app.clone().oneshot(request).await.expect("routers do not fail").status()
        };
        assert_eq!(status(order("k-1")).await, StatusCode::CREATED);
        assert_eq!(status(order("k-1")).await, StatusCode::CONFLICT);
        assert_eq!(status(order("k-2")).await, StatusCode::CREATED);
        let show = Request::get("/orders/7").body(Body::empty()).expect("a valid request");
        assert_eq!(status(show).await, StatusCode::OK);
    }
}
