//! A socket with segmentation and coalescing in the kernel, where that can be had.

use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use slotcast_units::Span;
use socket2::{Domain, Protocol, Type};

/// Bytes that the kernel may keep for the receiver; as many of them as it allows are asked for.
const BUFFER: usize = 8 << 20;

/// How long a full queue of the kernel is waited for before datagrams are lost.
const QUEUE_WAIT: Span = Span::from_ms(20);

pub(super) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Socket {
    /// Receives at `address` and sends from it.
    pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
        let socket = new_socket(address)?;
        socket.bind(&address.into())?;
        if let SocketAddr::V4(address) = address {
            socket.set_multicast_loop_v4(true)?;
            socket.set_multicast_ttl_v4(1)?;
            if !address.ip().is_unspecified() {
                socket.set_multicast_if_v4(address.ip())?;
            }
        }
        Socket::new(socket.into())
    }

    /// Receives what is sent to `group` by multicast over the interface that has the address `interface`.
    pub(super) fn join(group: SocketAddrV4, interface: Ipv4Addr) -> io::Result<Socket> {
        let socket = new_socket(group.into())?;
        // Several nodes of one machine may listen to one group.
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from(group).into())?;
        socket.set_multicast_all_v4(false)?;
        socket.join_multicast_v4(group.ip(), &interface)?;
        Socket::new(socket.into())
    }

    fn new(socket: UdpSocket) -> io::Result<Socket> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Socket { socket, state })
    }

    /// Sends `contents`: one datagram, or several of `segment` bytes of which the last may be shorter.
    pub(super) fn send(&self, to: SocketAddr, contents: &[u8], segment: usize) -> io::Result<()> {
        if self.state.max_gso_segments() > 1 {
            match self.send_once(to, contents, segment) {
                // The kernel or the device cannot do it, and is not asked again.
                Err(_) if self.state.max_gso_segments() == 1 => {}
                result => return result,
            }
        }
        contents.chunks(segment).try_for_each(|one| self.send_once(to, one, segment))
    }

    fn send_once(&self, to: SocketAddr, contents: &[u8], segment: usize) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: None,
            contents,
            segment_size: (contents.len() > segment).then_some(segment),
            src_ip: None,
        };
        loop {
            match self.state.try_send((&self.socket).into(), &transmit) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut writable = [PollFd::new(&self.socket, PollFlags::OUT)];
                    if poll(&mut writable, Some(&timespec(QUEUE_WAIT)))? == 0 {
                        return Err(error);
                    }
                }
                // A peer that is gone is noticed by its silence.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
                result => return result,
            }
        }
    }

    /// Takes what has come into `buffers`; gives none if nothing has.
    pub(super) fn receive(&self, buffers: &mut Buffers) -> io::Result<usize> {
        let mut slices = buffers.bytes.each_mut().map(|buffer| IoSliceMut::new(buffer));
        match self.state.recv((&self.socket).into(), &mut slices, &mut buffers.meta) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            result => result,
        }
    }
}

fn new_socket(address: SocketAddr) -> io::Result<socket2::Socket> {
    let socket =
        socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // As much as the system's limit allows; that less is granted is no reason to stop.
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    Ok(socket)
}

fn timespec(span: Span) -> Timespec {
    let ns = span.as_ns();
    Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    }
}

/// Waits until one of `sockets` has something, for `most` at most.
pub(super) fn wait(sockets: &[&Socket], most: Span) -> io::Result<()> {
    let mut readable: Vec<_> =
        sockets.iter().map(|socket| PollFd::new(&socket.socket, PollFlags::IN)).collect();
    match poll(&mut readable, Some(&timespec(most))) {
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How many coalesced datagrams are taken at a time.
const AT_A_TIME: usize = 8;

/// Room for what comes.
pub(super) struct Buffers {
    bytes: Box<[Vec<u8>; AT_A_TIME]>,
    meta: [RecvMeta; AT_A_TIME],
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        let bytes = Box::new(std::array::from_fn(|_| vec![0; 1 << 16]));
        Buffers { bytes, meta: [RecvMeta::default(); AT_A_TIME] }
    }

    /// The datagrams in the first `filled` buffers, with the addresses that they came from.
    pub(super) fn datagrams(
        &mut self,
        filled: usize,
    ) -> impl Iterator<Item = (SocketAddr, &mut [u8])> {
        self.bytes.iter_mut().zip(&self.meta).take(filled).flat_map(|(bytes, meta)| {
            let length = meta.len.min(bytes.len());
            let datagrams = bytes[..length].chunks_mut(meta.stride.max(1));
            datagrams.map(|datagram| (meta.addr, datagram))
        })
    }
}
