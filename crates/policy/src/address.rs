//! Networks: addresses that begin with the same bits.

use core::net::IpAddr;

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// The network that is written as `192.0.2.0/24`, or as one address.
    pub(crate) fn read(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse().ok()?,
            Some(_) => return None,
            None => most,
        };
        (bits <= most).then_some(Network { address, bits })
    }

    /// Whether it is in it. An address of IP version 4 that is written as one of version 6 is the same.
    pub(crate) fn has(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }

    /// Whether it has all addresses of its version.
    pub(crate) fn is_all(self) -> bool {
        self.bits == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_the_addresses_that_begin_so() {
        let has = |network: &str, address: &str| {
            let network = Network::read(network).expect("a network");
            network.has(address.parse().expect("an address"))
        };
        assert!(has("192.0.2.0/24", "192.0.2.9") && !has("192.0.2.0/24", "192.0.3.9"));
        assert!(has("192.0.2.7", "192.0.2.7") && !has("192.0.2.7", "192.0.2.8"));
        assert!(has("0.0.0.0/0", "8.8.8.8") && !has("0.0.0.0/0", "::1"));
        assert!(has("2001:db8::/32", "2001:db8:1::1") && has("::/0", "2001:db8::1"));
        assert!(has("10.0.0.0/8", "::ffff:10.1.2.3"));
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/+8", "a/8"] {
            assert_eq!(Network::read(wrong), None, "{wrong}");
        }
    }
}
