//! Ports, buffers of the kernel, frames, multicast.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Finding, Plan, Verdict};

/// How a node of a cluster speaks with the others.
#[derive(Debug)]
pub(super) struct Datagrams {
    pub(super) listen: SocketAddr,
    /// Bytes of one, without headers of IPv6 and UDP.
    pub(super) size: usize,
    /// Of the first group.
    pub(super) multicast: Option<SocketAddrV4>,
}

pub(super) fn look(plan: &Plan) -> Vec<Finding> {
    let http = port("HTTP", plan.http, TcpListener::bind(plan.http).err());
    let s3 = port("S3", plan.s3, TcpListener::bind(plan.s3).err());
    let mut findings = vec![http, s3];
    if let Some(network) = &plan.network {
        let bound = UdpSocket::bind(network.listen);
        findings.push(port("datagrams", network.listen, bound.err()));
        findings.extend([buffer("rmem_max"), buffer("wmem_max"), frames(network)]);
        findings.extend(network.multicast.map(|group| multicast(group, network.listen.ip())));
    }
    findings
}

fn port(check: &'static str, address: SocketAddr, error: Option<io::Error>) -> Finding {
    match error {
        None => Finding::good(check, format!("{address} is free")),
        Some(error) if error.kind() == io::ErrorKind::AddrInUse => Finding::of(
            (check, Verdict::Warning),
            format!("{address} is in use"),
            "if that is not the node itself, give it another port",
        ),
        Some(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Finding::of(
            (check, Verdict::Bad),
            format!("{address} is no address of this host"),
            "take one of `ip addr`; where addresses are translated, set `listen`",
        ),
        Some(error) => Finding::of(
            (check, Verdict::Bad),
            format!("{address}: {error}"),
            "ports below 1024 need a capability, and a container may lack the address",
        ),
    }
}

/// What a node asks of the kernel for datagrams that wait: some chunks.
const BUFFER: u64 = 8 << 20;

fn buffer(name: &'static str) -> Finding {
    let path = format!("/proc/sys/net/core/{name}");
    let value = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match value {
        Some(bytes) if bytes >= BUFFER => Finding::good(name, format!("{bytes} bytes")),
        Some(bytes) => Finding::of(
            (name, Verdict::Warning),
            format!("{bytes} bytes: datagrams are lost in the kernel while a node is busy"),
            format!("sysctl -w net.core.{name}={BUFFER}, and in /etc/sysctl.d to keep it"),
        ),
        None => Finding::unknown(name, format!("{path} cannot be read")),
    }
}

/// Bytes of headers of IPv6 and UDP, which the MTU of a cluster map counts.
const HEADERS: usize = 48;

/// The interface with an address, and the longest packet that it sends.
fn interface_of(address: IpAddr) -> Option<(String, usize)> {
    let of = getifaddrs().ok()?.find(|of| {
        let here = of.address.as_ref();
        let v4 = here.and_then(|here| here.as_sockaddr_in()).map(|here| IpAddr::V4(here.ip()));
        let v6 = here.and_then(|here| here.as_sockaddr_in6()).map(|here| IpAddr::V6(here.ip()));
        v4.or(v6) == Some(address)
    })?;
    let name = of.interface_name;
    let mtu = fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?;
    Some((name, mtu.trim().parse().ok()?))
}

fn frames(network: &Datagrams) -> Finding {
    const CHECK: &str = "MTU";
    let needed = network.size + HEADERS;
    match interface_of(network.listen.ip()) {
        Some((name, mtu)) if mtu < needed => Finding::of(
            (CHECK, Verdict::Bad),
            format!("{name} sends {mtu} bytes at most, and datagrams have {needed}"),
            format!("`mtu = {mtu}` in the cluster map, or a larger one on every host and switch"),
        ),
        // Jumbo frames halve the work where they are there anyhow.
        Some((name, mtu)) if mtu >= 9000 && needed < 9000 => Finding::of(
            (CHECK, Verdict::Warning),
            format!("{name} sends up to {mtu} bytes, and datagrams have {needed}"),
            "if all hosts and switches do, `mtu = 9000` in the cluster map costs less processor time",
        ),
        Some((name, mtu)) => Finding::good(CHECK, format!("{name} sends up to {mtu} bytes")),
        None => {
            Finding::unknown(CHECK, format!("no interface has the address {}", network.listen.ip()))
        }
    }
}

/// How long a datagram may take to its own host.
const PATIENCE: Duration = Duration::from_millis(500);

fn multicast(group: SocketAddrV4, here: IpAddr) -> Finding {
    const CHECK: &str = "multicast";
    const REMEDY: &str = "let the interface and the switches pass it, or take `multicast` out of the \
                          cluster map: a node that hears none is sent a copy of its own";
    let IpAddr::V4(here) = here else {
        return Finding::of(
            (CHECK, Verdict::Bad),
            format!("{group} is of IPv4, and this node has an address of IPv6"),
            "use addresses of IPv4, or take `multicast` out of the cluster map",
        );
    };
    match hears(group, here) {
        Ok(true) => Finding::good(CHECK, format!("{group} is heard on this host at {here}")),
        Ok(false) => Finding::of(
            (CHECK, Verdict::Warning),
            format!("{group} is not heard at {here}"),
            REMEDY,
        ),
        Err(error) => Finding::of((CHECK, Verdict::Warning), format!("{group}: {error}"), REMEDY),
    }
}

/// Whether what is sent to the group over the interface with this address comes back. It is sent to another port than
/// that of the group: a cluster that runs is not disturbed.
fn hears(group: SocketAddrV4, here: Ipv4Addr) -> io::Result<bool> {
    let receiver = UdpSocket::bind((*group.ip(), 0))?;
    receiver.join_multicast_v4(group.ip(), &here)?;
    receiver.set_read_timeout(Some(PATIENCE))?;
    let port = receiver.local_addr()?.port();
    let sender = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    sender.set_multicast_if_v4(&here)?;
    sender.set_multicast_loop_v4(true)?;
    let text = b"slotcast doctor";
    sender.send_to(text, &SocketAddr::from((*group.ip(), port)).into())?;
    let mut heard = [0; 64];
    match receiver.recv(&mut heard) {
        Ok(length) => Ok(heard.get(..length) == Some(text)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_port_that_is_taken_is_told_and_an_address_of_others_is_bad() {
        let taken = TcpListener::bind((LOCAL, 0)).expect("a port");
        let address = taken.local_addr().expect("an address");
        let of = |address| port("HTTP", address, TcpListener::bind(address).err()).verdict;
        assert_eq!(of(address), Verdict::Warning);
        drop(taken);
        assert_eq!(of(address), Verdict::Good);
        assert_eq!(of("192.0.2.1:80".parse().expect("an address")), Verdict::Bad);
    }

    #[test]
    fn datagrams_must_fit_the_interface() {
        let (name, mtu) = interface_of(LOCAL).expect("each host has it");
        assert_eq!(name, "lo");
        let network = |size| Datagrams { listen: (LOCAL, 1).into(), size, multicast: None };
        assert_eq!(frames(&network(mtu - HEADERS)).verdict, Verdict::Good);
        assert_eq!(frames(&network(mtu)).verdict, Verdict::Bad);
    }
}
