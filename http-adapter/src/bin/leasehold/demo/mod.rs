//! `leasehold demo`: the gateway in front of a built-in orders service, and what to try on it.

mod orders;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

use crate::config::{Config, Flags};
use crate::gateway::{Gateway, StartError};
use crate::print;
use orders::Orders;

/// Starts the orders service on a free port and the gateway in front of it.
pub(crate) async fn run(
    listen: Option<String>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), StartError> {
    let upstream = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let flags = Flags {
        listen,
        upstream: Some(format!("http://{}", upstream.local_addr()?)),
        ..Flags::default()
    };
    let Some(gateway) = Gateway::bind(&Config::load(&flags, environment)?).await? else {
        return Ok(());
    };
    print(&gateway.announcement()?)?;
    print(&introduction(gateway.address()?))?;
    let orders = tokio::spawn(Orders::default().serve(upstream));
    gateway.serve().await;
    orders.abort();
    Ok(())
}

/// Three lines for a shell, each with its answer.
fn introduction(mut reachable: SocketAddr) -> String {
    if reachable.ip().is_unspecified() {
        reachable.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let curl = |key: &str, quantity: u32| {
        format!(
            "curl -i http://{reachable}/orders -H 'Idempotency-Key: {key}' \
             -d '{{\"item\":\"tea\",\"quantity\":{quantity}}}'"
        )
    };
    let [first, bad] = [curl("order-1", 2), curl("order-2", 0)];
    format!(
        "\n\
         An orders service stands behind it. Try these; each answer is as printed below it.\n\
         \n\
         {first}\n\
         #=> 201 Created {{\"id\":1,\"item\":\"tea\",\"quantity\":2}}\n\
         \n\
         {first}\n\
         #=> 409 Conflict \"type\":\"urn:leasehold:problem:duplicate\" (it was not ordered twice)\n\
         \n\
         {bad}\n\
         #=> 422 Unprocessable Entity {{\"error\":\"quantity must be greater than zero\"}} \
         (the key is still free: send it again with a quantity)\n"
    )
}
