//! The layer around a gRPC service of tonic: `cargo run -p leasehold-http --example tonic`.
//!
//! The key is metadata of the call. What `tonic-prost-build` would make from a `.proto` file is
//! written out here, so that the example needs no compiler of protocol buffers.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use leasehold::{MemoryConfig, MemoryStore};
use leasehold_http::{IdempotentLayer, Policy, Routes};
use tokio::net::TcpListener;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Order {
    #[prost(uint32, tag = "1")]
    quantity: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Receipt {
    #[prost(string, tag = "1")]
    text: String,
}

/// `rpc Place (Order) returns (Receipt)`.
fn place(order: &Order) -> Result<Receipt, Status> {
    match order.quantity {
        0 => Err(Status::invalid_argument("nothing was ordered")),
        quantity => Ok(Receipt { text: format!("{quantity} ordered") }),
    }
}

/// `service Orders` of the package `shop`.
#[derive(Clone)]
struct Orders;

const PLACE: &str = "/shop.Orders/Place";

impl NamedService for Orders {
    const NAME: &'static str = "shop.Orders";
}

struct Place;

impl UnaryService<Order> for Place {
    type Response = Receipt;
    type Future = std::future::Ready<Result<Response<Receipt>, Status>>;

    fn call(&mut self, request: Request<Order>) -> Self::Future {
        std::future::ready(place(request.get_ref()).map(Response::new))
    }
}

type Answering = Pin<
    Box<
        dyn Future<Output = Result<http::Response<tonic::body::Body>, std::convert::Infallible>>
            + Send,
    >,
>;

impl tower::Service<http::Request<tonic::body::Body>> for Orders {
    type Response = http::Response<tonic::body::Body>;
    type Error = std::convert::Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Answering {
        Box::pin(async move {
            if request.uri().path() != PLACE {
                return Ok(Status::unimplemented("no such method").into_http());
            }
            let codec = ProstCodec::<Receipt, Order>::default();
            Ok(Grpc::new(codec).unary(Place, request).await)
        })
    }
}

async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error + Send + Sync>> {
    let store = Arc::new(MemoryStore::new(MemoryConfig::default())?);
    let idempotent = IdempotentLayer::new(store, Routes::new(Policy::default()));
    let incoming = TcpIncoming::from(listener);
    let server = Server::builder().layer(idempotent).add_service(Orders);
    Ok(server.serve_with_incoming(incoming).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:50051").await?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener).await
}

#[cfg(test)]
mod tests {
    use http::uri::PathAndQuery;
    use tonic::Code;
    use tonic::client::Grpc as Client;
    use tonic::transport::Channel;

    use super::*;

    async fn connect() -> Result<Client<Channel>, Box<dyn Error + Send + Sync>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        tokio::spawn(serve(listener));
        Ok(Client::new(Channel::from_shared(address)?.connect().await?))
    }

    /// Places an order with a key, if there is one; gives the receipt or the code.
    async fn order(client: &mut Client<Channel>, key: &str, quantity: u32) -> Result<String, Code> {
        client.ready().await.expect("connected");
        let mut request = Request::new(Order { quantity });
        if !key.is_empty() {
            request.metadata_mut().insert("idempotency-key", key.parse().expect("ASCII"));
        }
        let codec = ProstCodec::<Order, Receipt>::default();
        let answer = client.unary(request, PathAndQuery::from_static(PLACE), codec).await;
        answer.map(|receipt| receipt.into_inner().text).map_err(|status| {
            assert!(!status.message().is_empty());
            status.code()
        })
    }

    #[tokio::test]
    async fn an_order_is_placed_once() -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut client = connect().await?;
        assert_eq!(order(&mut client, "k-1", 2).await.as_deref(), Ok("2 ordered"));
        assert_eq!(order(&mut client, "k-1", 2).await, Err(Code::AlreadyExists));
        assert_eq!(order(&mut client, "k-2", 1).await.as_deref(), Ok("1 ordered"));
        Ok(())
    }

    #[tokio::test]
    async fn a_call_that_failed_may_run_again() -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut client = connect().await?;
        // The service's own code passes, and frees the key.
        assert_eq!(order(&mut client, "k-1", 0).await, Err(Code::InvalidArgument));
        assert_eq!(order(&mut client, "k-1", 3).await.as_deref(), Ok("3 ordered"));
        assert_eq!(order(&mut client, "", 3).await, Err(Code::InvalidArgument));
        Ok(())
    }
}
