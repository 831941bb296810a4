//! Reads `cluster.toml`, and writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use slotcast_member::map::{ClusterMap, FailureDomain, MEMBERSHIPS, MapNode, name_of};
use slotcast_object::Collection;
use slotcast_protocol::{Delivery, MAX_REPLICAS, Membership, TargetId};
use slotcast_units::{Rate, Span};
use toml::Spanned;

use super::error::{Result, Source};
use super::map_voters::{CollectionEntry, NamesEntry, voters_of, write_collection, write_voters};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    epoch: Spanned<u32>,
    replicas: Option<Spanned<u8>>,
    group_size: Option<Spanned<u32>>,
    failure_domain: Option<Spanned<String>>,
    delivery: Option<Spanned<String>>,
    data_rate: Option<Spanned<String>>,
    trip: Option<Spanned<String>>,
    mtu: Option<Spanned<u32>>,
    multicast: Option<Spanned<String>>,
    collection: Option<Spanned<CollectionEntry>>,
    node: Spanned<Vec<NodeEntry>>,
    group: Option<Spanned<Vec<GroupEntry>>>,
    names: Option<Spanned<Vec<NamesEntry>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupEntry {
    seats: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeEntry {
    number: Spanned<u32>,
    address: Spanned<String>,
    targets: Spanned<Vec<u32>>,
    state: Option<Spanned<String>>,
}

/// What the headers of IPv6 and UDP take of a packet.
const HEADERS: u32 = 48;

/// A packet on an Ethernet, one with jumbo frames, and the longest.
const MTU: u32 = 1500;
const JUMBO_MTU: u32 = 9000;
const MAX_MTU: u32 = 65_535;

/// Reads the map in the file at `path`.
///
/// # Errors
/// If it cannot be read, or says something that cannot be.
pub(super) fn read_map(path: &Path) -> Result<ClusterMap> {
    map_in(&Source::open(path)?)
}

/// Reads the map in `text`; errors call it `name`.
///
/// # Errors
/// If it says something that cannot be.
pub fn parse_map(name: &str, text: &str) -> Result<ClusterMap> {
    map_in(&Source { file: name.to_owned(), text: text.to_owned() })
}

pub(super) fn map_in(source: &Source) -> Result<ClusterMap> {
    let file: MapFile = source.parse()?;
    Reading(source).map(&file)
}

/// The map as a text that [`parse_map`] reads.
pub fn map_text(map: &ClusterMap) -> String {
    let numbers = |targets: &[TargetId]| {
        let numbers: Vec<String> = targets.iter().map(|target| target.0.to_string()).collect();
        numbers.join(", ")
    };
    let domain = match map.failure_domain {
        FailureDomain::Node => "node",
        FailureDomain::Target => "target",
    };
    let delivery = match map.delivery {
        Delivery::Unicast => "unicast",
        Delivery::Multicast => "multicast",
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "epoch = {}\nreplicas = {}", map.epoch, map.replicas);
    let _ = writeln!(text, "group_size = {}", map.group_size);
    let _ = writeln!(text, "failure_domain = \"{domain}\"\ndelivery = \"{delivery}\"");
    let _ = writeln!(text, "data_rate = \"{}\"\ntrip = \"{}\"", map.data_rate, map.trip);
    let _ = writeln!(text, "mtu = {}", map.datagram + HEADERS as usize);
    if let Some(multicast) = map.multicast {
        let _ = writeln!(text, "multicast = \"{multicast}\"");
    }
    write_collection(map.collection, &mut text);
    for MapNode { number, address, targets, membership } in &map.nodes {
        let _ = writeln!(text, "\n[[node]]\nnumber = {number}\naddress = \"{address}\"");
        let _ = writeln!(text, "targets = [{}]", numbers(targets));
        if *membership != Membership::Active {
            let _ = writeln!(text, "state = \"{}\"", name_of(*membership));
        }
    }
    for seats in map.seats.iter().flatten() {
        let _ = writeln!(text, "\n[[group]]\nseats = [{}]", numbers(seats));
    }
    write_voters(&map.voters, &mut text);
    text
}

struct Reading<'a>(&'a Source);

impl Reading<'_> {
    fn map(&self, file: &MapFile) -> Result<ClusterMap> {
        let nodes = self.nodes(file)?;
        let targets = nodes.iter().map(|node| node.targets.len()).sum::<usize>();
        let all_loopback = nodes.iter().all(|node| node.address.ip().is_loopback());
        let mtu = file
            .mtu
            .as_ref()
            .map_or(if all_loopback { JUMBO_MTU } else { MTU }, |mtu| *mtu.get_ref());
        if !(MTU..=MAX_MTU).contains(&mtu) {
            let message = format!("mtu = {mtu}: a packet has {MTU} to {MAX_MTU} bytes");
            return self.wrong(
                file.mtu.as_ref().map(Spanned::span),
                message,
                "1500 is that of Ethernet, 9000 of jumbo frames",
            );
        }
        let group_size = file.group_size.as_ref();
        let mut map = ClusterMap {
            epoch: *file.epoch.get_ref(),
            group_size: group_size
                .map_or(u32::try_from(targets.min(9)).unwrap_or(9), |n| *n.get_ref()),
            replicas: file.replicas.as_ref().map_or(3, |replicas| *replicas.get_ref()),
            failure_domain: self.choice(
                "failure_domain",
                file.failure_domain.as_ref(),
                &[("node", FailureDomain::Node), ("target", FailureDomain::Target)],
            )?,
            delivery: self.choice(
                "delivery",
                file.delivery.as_ref(),
                &[("unicast", Delivery::Unicast), ("multicast", Delivery::Multicast)],
            )?,
            data_rate: self.quantity(
                "data_rate",
                file.data_rate.as_ref(),
                Rate::from_bps(8_000_000_000),
            )?,
            trip: self.quantity("trip", file.trip.as_ref(), Span::from_us(100))?,
            datagram: (mtu - HEADERS) as usize,
            multicast: self.multicast(file.multicast.as_ref())?,
            nodes,
            seats: file.group.as_ref().map(|groups| {
                let targets =
                    |group: &GroupEntry| group.seats.iter().copied().map(TargetId).collect();
                groups.get_ref().iter().map(targets).collect()
            }),
            voters: BTreeMap::new(),
            collection: self.collection(file.collection.as_ref())?,
        };
        self.check(file, &map)?;
        if let (Some(names), Ok(groups)) = (&file.names, map.groups()) {
            let voters = voters_of(names.get_ref(), groups.groups());
            map.voters = voters.map_err(|why| {
                let help = "nodes write this part: leave it as it was";
                self.0.error(Some(names.span()), why.to_string(), Some(help))
            })?;
        }
        Ok(map)
    }

    fn collection(&self, entry: Option<&Spanned<CollectionEntry>>) -> Result<Collection> {
        let Some(entry) = entry else { return Ok(Collection::default()) };
        entry.get_ref().collection().map_err(|why| {
            let help = "nodes write this part: leave it as it was";
            self.0.error(Some(entry.span()), why.to_string(), Some(help))
        })
    }

    fn wrong<T>(&self, span: Option<Range<usize>>, message: String, help: &str) -> Result<T> {
        Err(self.0.error(span, message, Some(help)))
    }

    fn choice<T: Copy>(
        &self,
        key: &str,
        value: Option<&Spanned<String>>,
        all: &[(&str, T)],
    ) -> Result<T> {
        let Some(value) = value else { return Ok(all[0].1) };
        match all.iter().find(|(name, _)| name == value.get_ref()) {
            Some((_, chosen)) => Ok(*chosen),
            None => {
                let names: Vec<_> = all.iter().map(|(name, _)| format!("\"{name}\"")).collect();
                let message = format!("{key} = \"{}\" is not known", value.get_ref());
                self.wrong(Some(value.span()), message, &format!("expected {}", names.join(" or ")))
            }
        }
    }

    fn quantity<T>(&self, key: &str, value: Option<&Spanned<String>>, default: T) -> Result<T>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let Some(value) = value else { return Ok(default) };
        value.get_ref().parse().map_err(|error| {
            let message = format!("{key} = \"{}\": {error}", value.get_ref());
            self.0.error(Some(value.span()), message, None)
        })
    }

    fn address<T: std::str::FromStr>(
        &self,
        key: &str,
        value: &Spanned<String>,
        example: &str,
    ) -> Result<T> {
        value.get_ref().parse().map_err(|_| {
            let message = format!("{key} = \"{}\" is not an address and a port", value.get_ref());
            self.0.error(Some(value.span()), message, Some(&format!("write it as \"{example}\"")))
        })
    }

    fn multicast(&self, value: Option<&Spanned<String>>) -> Result<Option<SocketAddrV4>> {
        let Some(value) = value else { return Ok(None) };
        let address: SocketAddrV4 = self.address("multicast", value, "239.77.0.0:7482")?;
        if !address.ip().is_multicast() || address.port() == 0 {
            let message = format!("multicast = \"{address}\" is no multicast address with a port");
            return self.wrong(
                Some(value.span()),
                message,
                "239.0.0.0 to 239.255.255.255 are for private use",
            );
        }
        Ok(Some(address))
    }

    fn nodes(&self, file: &MapFile) -> Result<Vec<MapNode>> {
        let mut nodes = Vec::new();
        let mut seen_numbers = BTreeMap::new();
        let mut seen_targets = BTreeMap::new();
        let mut seen_addresses = BTreeMap::new();
        for entry in file.node.get_ref() {
            let number = *entry.number.get_ref();
            if seen_numbers.insert(number, ()).is_some() {
                let message = format!("number = {number}: two nodes have this number");
                return self.wrong(
                    Some(entry.number.span()),
                    message,
                    "number every node differently",
                );
            }
            let address: SocketAddr = self.address("address", &entry.address, "10.0.0.1:7481")?;
            if address.ip().is_unspecified() || address.ip().is_multicast() || address.port() == 0 {
                let message = format!("address = \"{address}\": nobody can send to it");
                return self.wrong(
                    Some(entry.address.span()),
                    message,
                    "name the address at which the others reach this node, with a port",
                );
            }
            if let Some(other) = seen_addresses.insert(address, number) {
                let message = format!("address = \"{address}\" is that of node {other}, too");
                return self.wrong(
                    Some(entry.address.span()),
                    message,
                    "give every node an address or a port of its own",
                );
            }
            for target in entry.targets.get_ref() {
                if let Some(other) = seen_targets.insert(*target, number) {
                    let message = format!("targets: {target} is a target of node {other}, too");
                    return self.wrong(
                        Some(entry.targets.span()),
                        message,
                        "number every target differently",
                    );
                }
            }
            if entry.targets.get_ref().is_empty() {
                let message = format!("targets: node {number} has none");
                return self.wrong(Some(entry.targets.span()), message, "list at least one target");
            }
            let targets = entry.targets.get_ref().iter().copied().map(TargetId).collect();
            let membership = self.choice("state", entry.state.as_ref(), &MEMBERSHIPS)?;
            nodes.push(MapNode { number, address, targets, membership });
        }
        nodes.sort_by_key(|node| node.number);
        if file.group.is_some() {
            return Ok(nodes);
        }
        let gap = (0..).zip(seen_targets.keys()).find(|(expected, target)| expected != *target);
        if let Some((expected, _)) = gap {
            let message = format!("targets: no node has target {expected}");
            return self.wrong(
                Some(file.node.span()),
                message,
                "targets are numbered from 0 without a gap, or [[group]] says who sits where",
            );
        }
        Ok(nodes)
    }

    fn check(&self, file: &MapFile, map: &ClusterMap) -> Result<()> {
        let at_replicas = file.replicas.as_ref().map(Spanned::span);
        let replicas = usize::from(map.replicas);
        if !(1..=MAX_REPLICAS).contains(&replicas) {
            let message = format!("replicas = {replicas}");
            return self.wrong(at_replicas, message, "a chunk has 1 to 8 replicas");
        }
        if map.failure_domain == FailureDomain::Node {
            if map.seats.is_none() {
                self.check_domains(file, map)?;
            }
            let active = map.nodes.iter().filter(|node| node.membership.takes_puts()).count();
            if replicas > active {
                let message =
                    format!("replicas = {replicas}: on different nodes, and there are {active}");
                return self.wrong(
                    at_replicas,
                    message,
                    "have more nodes, fewer replicas, or failure_domain = \"target\"",
                );
            }
        }
        let groups = map.groups().map_err(|error| match &file.group {
            Some(group) => self.0.error(Some(group.span()), format!("group: {error}"), None),
            None => {
                let span = file.group_size.as_ref().map_or(file.node.span(), Spanned::span);
                self.0.error(Some(span), format!("group_size = {}: {error}", map.group_size), None)
            }
        })?;
        for group in (0..groups.groups()).map(slotcast_protocol::GroupId) {
            let all = slotcast_protocol::Members::first(groups.members(group).len());
            if groups.domains_of(group, all.intersection(groups.members_for_puts(group))) < replicas
            {
                let span = file.group_size.as_ref().map_or(file.node.span(), Spanned::span);
                let message = match map.seats {
                    None => format!(
                        "group_size = {}: a group has fewer failure domains than a chunk has replicas",
                        map.group_size
                    ),
                    Some(_) => format!(
                        "group {} has fewer failure domains with active targets than a chunk has \
                         replicas ({replicas})",
                        group.0
                    ),
                };
                return self.wrong(
                    Some(span),
                    message,
                    "make groups larger, or have fewer replicas",
                );
            }
            if map.multicast.is_some() && map.multicast_of(group).is_none() {
                let span = file.multicast.as_ref().map(Spanned::span);
                let message = format!("multicast: there is no address for group {}", group.0);
                return self.wrong(span, message, "begin with a lower address");
            }
        }
        let other_family = map.nodes.iter().find(|node| node.address.is_ipv6());
        if let (Some(multicast), Some(node)) = (&file.multicast, other_family) {
            let message = format!(
                "multicast = \"{}\": node {} has an address of IPv6",
                multicast.get_ref(),
                node.number
            );
            return self.wrong(
                Some(multicast.span()),
                message,
                "give all nodes addresses of IPv4, or leave multicast out",
            );
        }
        if map.delivery == Delivery::Multicast && map.multicast.is_none() {
            let span = file.delivery.as_ref().map(Spanned::span);
            return self.wrong(
                span,
                "delivery = \"multicast\" needs multicast addresses".into(),
                "add multicast = \"239.77.0.0:7482\", or choose \"unicast\"",
            );
        }
        Ok(())
    }

    /// With nodes as failure domains, each has as many targets, and they are numbered node by node.
    fn check_domains(&self, file: &MapFile, map: &ClusterMap) -> Result<()> {
        let per_node = map.nodes.first().map_or(0, |node| node.targets.len());
        let mut next = 0;
        for node in &map.nodes {
            let expected: Vec<_> = (next..).map(TargetId).take(per_node).collect();
            let mut targets = node.targets.clone();
            targets.sort();
            if targets != expected {
                let entries = file.node.get_ref();
                let entry = entries.iter().find(|entry| *entry.number.get_ref() == node.number);
                let (first, last) = (next, next as usize + per_node - 1);
                let message =
                    format!("targets: node {} should have {first} to {last}", node.number);
                return self.wrong(entry.map(|entry| entry.targets.span()), message, "number targets node by node, as many on each, or set failure_domain = \"target\"");
            }
            next += u32::try_from(per_node).unwrap_or(0);
        }
        Ok(())
    }
}
