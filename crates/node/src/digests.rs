//! Checksums of content that passes by.

use crc_fast::{CrcAlgorithm, Digest as Crc};
use md5::{Digest as _, Md5};
use sha1::Sha1;
use sha2::Sha256;
use slotcast_object::Checksums;

/// A checksum that is kept with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// MD5 (RFC 1321).
    Md5,
    /// CRC-32 (ISO-HDLC).
    Crc32,
    /// CRC-32C (iSCSI).
    Crc32c,
    /// CRC-64/NVME.
    Crc64Nvme,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
}

impl Checksum {
    /// All there are.
    pub const ALL: [Checksum; 6] = [
        Checksum::Md5,
        Checksum::Crc32,
        Checksum::Crc32c,
        Checksum::Crc64Nvme,
        Checksum::Sha1,
        Checksum::Sha256,
    ];

    /// Bytes of its value.
    pub fn length(self) -> usize {
        match self {
            Checksum::Crc32 | Checksum::Crc32c => 4,
            Checksum::Crc64Nvme => 8,
            Checksum::Md5 => 16,
            Checksum::Sha1 => 20,
            Checksum::Sha256 => 32,
        }
    }

    /// Its value among `sums`, with the most significant byte first.
    pub fn of(self, sums: &Checksums) -> Option<Vec<u8>> {
        match self {
            Checksum::Md5 => sums.md5.map(|value| value.to_vec()),
            Checksum::Crc32 => sums.crc32.map(|value| value.to_be_bytes().to_vec()),
            Checksum::Crc32c => sums.crc32c.map(|value| value.to_be_bytes().to_vec()),
            Checksum::Crc64Nvme => sums.crc64.map(|value| value.to_be_bytes().to_vec()),
            Checksum::Sha1 => sums.sha1.map(|value| value.to_vec()),
            Checksum::Sha256 => sums.sha256.map(|value| value.to_vec()),
        }
    }

    /// Puts a value among `sums`; one of a wrong length takes it away.
    pub fn set(self, sums: &mut Checksums, value: &[u8]) {
        match self {
            Checksum::Md5 => sums.md5 = value.try_into().ok(),
            Checksum::Crc32 => sums.crc32 = value.try_into().ok().map(u32::from_be_bytes),
            Checksum::Crc32c => sums.crc32c = value.try_into().ok().map(u32::from_be_bytes),
            Checksum::Crc64Nvme => sums.crc64 = value.try_into().ok().map(u64::from_be_bytes),
            Checksum::Sha1 => sums.sha1 = value.try_into().ok(),
            Checksum::Sha256 => sums.sha256 = value.try_into().ok(),
        }
    }
}

/// One that is being computed.
#[derive(Debug)]
enum Running {
    Md5(Md5),
    /// Of this many bytes.
    Crc(Crc, usize),
    Sha1(Sha1),
    Sha256(Sha256),
}

/// Some checksums of one content, while that passes by.
#[derive(Debug)]
pub struct Digests(Vec<(Checksum, Running)>);

impl Digests {
    /// Those of nothing yet.
    pub fn new(wanted: impl IntoIterator<Item = Checksum>) -> Digests {
        let begin = |checksum: Checksum| {
            let crc = |algorithm| Running::Crc(Crc::new(algorithm), checksum.length());
            let running = match checksum {
                Checksum::Md5 => Running::Md5(Md5::new()),
                Checksum::Crc32 => crc(CrcAlgorithm::Crc32IsoHdlc),
                Checksum::Crc32c => crc(CrcAlgorithm::Crc32Iscsi),
                Checksum::Crc64Nvme => crc(CrcAlgorithm::Crc64Nvme),
                Checksum::Sha1 => Running::Sha1(Sha1::new()),
                Checksum::Sha256 => Running::Sha256(Sha256::new()),
            };
            (checksum, running)
        };
        Digests(wanted.into_iter().map(begin).collect())
    }

    /// These bytes come next.
    pub fn update(&mut self, bytes: &[u8]) {
        for (_, running) in &mut self.0 {
            match running {
                Running::Md5(digest) => digest.update(bytes),
                Running::Crc(digest, _) => digest.update(bytes),
                Running::Sha1(digest) => digest.update(bytes),
                Running::Sha256(digest) => digest.update(bytes),
            }
        }
    }

    /// Those of all that came. What comes after that is content of its own.
    pub fn finish(&mut self) -> Checksums {
        let mut sums = Checksums::default();
        for (checksum, running) in self.0.drain(..) {
            match running {
                Running::Md5(digest) => checksum.set(&mut sums, &digest.finalize()),
                Running::Crc(digest, length) => {
                    let value = digest.finalize().to_be_bytes();
                    checksum.set(&mut sums, &value[value.len() - length..]);
                }
                Running::Sha1(digest) => checksum.set(&mut sums, &digest.finalize()),
                Running::Sha256(digest) => checksum.set(&mut sums, &digest.finalize()),
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    /// The check values of the catalogue of CRCs, and of RFC 1321, 3174 and FIPS 180-2 for others.
    #[test]
    fn checksums_are_those_of_their_standards() {
        let of = |pieces: &[&str]| {
            let mut digests = Digests::new(Checksum::ALL);
            pieces.iter().for_each(|piece| digests.update(piece.as_bytes()));
            digests.finish()
        };
        let sums = of(&["1234", "", "56789"]);
        assert_eq!(sums.crc32, Some(0xcbf4_3926));
        assert_eq!(sums.crc32c, Some(0xe306_9283));
        assert_eq!(sums.crc64, Some(0xae8b_1486_0a79_9888));
        let sums = of(&["a", "bc"]);
        let hex = |checksum: Checksum| HEXLOWER.encode(&checksum.of(&sums).unwrap_or_default());
        assert_eq!(hex(Checksum::Md5), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex(Checksum::Sha1), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert!(hex(Checksum::Sha256).starts_with("ba7816bf8f01cfea414140de5dae2223"));
        for checksum in Checksum::ALL {
            let value = checksum.of(&sums).expect("it was computed");
            assert_eq!(value.len(), checksum.length(), "{checksum:?}");
            let mut copy = Checksums::default();
            checksum.set(&mut copy, &value);
            assert_eq!(checksum.of(&copy), Some(value), "{checksum:?}");
        }
    }
}
