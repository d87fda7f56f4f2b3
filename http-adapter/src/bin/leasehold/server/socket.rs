//! A client's connection: its bytes, and beside them the end of its input.
//!
//! HTTP is read as far as somebody takes it: the end of a client's input is not met while an upload
//! stands still, or while bytes wait behind a request. So it is asked of the system, which knows it
//! before what was sent is read. Nothing here may take a byte that is not asked for.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The connection, to be read and written.
#[derive(Debug)]
pub(super) struct Socket {
    input: Arc<OwnedReadHalf>,
    output: OwnedWriteHalf,
}

/// The end of what the client sends, as the system knows it.
#[derive(Debug)]
pub(super) struct Input {
    input: Arc<OwnedReadHalf>,
}

/// Gives the connection, and a look at its input beside it.
pub(super) fn watched(stream: TcpStream) -> (Socket, Input) {
    let (input, output) = stream.into_split();
    let input = Arc::new(input);
    (Socket { input: Arc::clone(&input), output }, Input { input })
}

impl Input {
    /// Ends when the client has closed its side, or the connection has broken, whatever was sent
    /// before and is not read yet. Where the system does not tell, it never ends.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub(super) async fn ended(&self) {
        if let Some(interest) = CLOSING
            && let Ok(ready) = self.input.ready(interest).await
            && ready.is_read_closed()
        {
            return;
        }
        pending().await
    }
}

/// What is told of a side that was closed, and not of bytes: the system says with urgent data alone
/// (which nobody has asked it for) and with the end.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOSING: Option<Interest> = Some(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOSING: Option<Interest> = None;

impl Socket {
    /// Reads what is there. Fewer bytes than there was room for are all that there were: to note
    /// that spares a call of the system's, where it tells of what comes after.
    fn read(&self, buf: &mut ReadBuf<'_>) -> io::Result<()> {
        let (mut read, room) = (false, buf.remaining());
        let tried = self.input.as_ref().as_ref().try_io(Interest::READABLE, || {
            let count = self.input.try_read_buf(buf)?;
            read = true;
            let all = cfg!(any(target_os = "linux", target_os = "android"));
            if all && 0 < count && count < room {
                Err(ErrorKind::WouldBlock.into())
            } else {
                Ok(())
            }
        });
        if read { Ok(()) } else { tried }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Ends: what would block is not ready any more.
        loop {
            ready!(self.input.as_ref().as_ref().poll_read_ready(cx))?;
            match self.read(buf) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.output.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, Socket, Input) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address"));
        let (client, accepted) = tokio::join!(client, listener.accept());
        let (socket, input) = watched(accepted.expect("accepted").0);
        (client.expect("connected"), socket, input)
    }

    #[tokio::test]
    async fn the_end_of_the_input_is_met_before_what_was_sent_is_read() {
        let (mut client, mut socket, input) = pair().await;
        client.write_all(b"abc").await.expect("written");
        let mut one = [0; 1];
        socket.read_exact(&mut one).await.expect("read");
        let mut ended = Box::pin(input.ended());
        assert!((&mut ended).now_or_never().is_none(), "bytes are no end");
        client.shutdown().await.expect("open");
        ended.await;
        input.ended().await;
        let mut rest = String::new();
        socket.read_to_string(&mut rest).await.expect("read");
        assert_eq!((one, rest.as_str()), ([b'a'], "bc"));
    }

    #[tokio::test]
    async fn a_connection_that_broke_is_an_end_too() {
        let (client, mut socket, input) = pair().await;
        // With bytes that nobody has read a close is a reset.
        socket.write_all(b"abc").await.expect("written");
        client.readable().await.expect("open");
        drop(client);
        input.ended().await;
    }

    #[tokio::test]
    async fn every_byte_is_read_however_much_is_asked_for_at_once() {
        let (mut client, mut socket, _input) = pair().await;
        let sent: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let copy = sent.clone();
        let writing = tokio::spawn(async move {
            client.write_all(&copy).await.expect("written");
        });
        let (mut all, mut room) = (Vec::new(), 1);
        while all.len() < sent.len() {
            let mut some = vec![0; room];
            let count = AsyncReadExt::read(&mut socket, &mut some).await.expect("read");
            assert!(count > 0, "ended early");
            all.extend_from_slice(&some[..count]);
            room = room % 5000 + 7;
        }
        assert_eq!(all, sent);
        writing.await.expect("written");
    }
}
