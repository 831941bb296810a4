//! A connection on which an answer is heard although the node takes nothing in any more.
//!
//! A node that refuses a put says why and closes. Sending then fails, and without this the failure is all that is
//! told: "broken pipe". What the node said has arrived by then, and is read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

/// Makes such connections. It is told where sending has failed, so that no more is read to be sent.
#[derive(Debug)]
pub(crate) struct Hearing(pub(crate) Arc<AtomicBool>);

/// One connection.
#[derive(Debug)]
pub(crate) struct Heard<T> {
    inner: T,
    /// Why nothing can be sent.
    failed: Option<io::Error>,
    is_cut: Arc<AtomicBool>,
}

impl<T: Transport> Connector<T> for Hearing {
    type Out = Heard<T>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<T>,
    ) -> Result<Option<Heard<T>>, Error> {
        Ok(chained.map(|inner| Heard { inner, failed: None, is_cut: self.0.clone() }))
    }
}

impl<T: Transport> Transport for Heard<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if self.failed.is_some() {
            return Ok(());
        }
        match self.inner.transmit_output(amount, timeout) {
            Err(Error::Io(error)) if is_cut(&error) => {
                self.failed = Some(error);
                self.is_cut.store(true, Ordering::Relaxed);
                Ok(())
            }
            result => result,
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        match (self.inner.await_input(timeout), self.failed.take()) {
            // Nothing was said.
            (Ok(false) | Err(_), Some(error)) => Err(Error::Io(error)),
            (heard, failed) => {
                self.failed = failed;
                heard
            }
        }
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }

    fn is_open(&mut self) -> bool {
        self.failed.is_none() && self.inner.is_open()
    }
}

fn is_cut(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}
