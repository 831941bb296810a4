//! Checksums as S3 names and writes them.

use crc_fast::CrcAlgorithm;
use data_encoding::BASE64;
use s3s::{S3Result, s3_error};
use slotcast_node::Checksum;
use slotcast_object::Checksums;

/// How a checksum is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Crc32,
    Crc32c,
    Crc64,
    Sha1,
    Sha256,
}

impl Algorithm {
    pub(crate) const ALL: [Algorithm; 5] =
        [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64, Algorithm::Sha1, Algorithm::Sha256];

    /// What clients call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Crc32 => "CRC32",
            Algorithm::Crc32c => "CRC32C",
            Algorithm::Crc64 => "CRC64NVME",
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha256 => "SHA256",
        }
    }

    /// The one that clients call so.
    pub(crate) fn read(name: &str) -> S3Result<Algorithm> {
        let found = Algorithm::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            s3_error!(InvalidRequest, "Checksum algorithm provided is unsupported: {name}")
        })
    }

    /// The header that has its value.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Algorithm::Crc32 => "x-amz-checksum-crc32",
            Algorithm::Crc32c => "x-amz-checksum-crc32c",
            Algorithm::Crc64 => "x-amz-checksum-crc64nvme",
            Algorithm::Sha1 => "x-amz-checksum-sha1",
            Algorithm::Sha256 => "x-amz-checksum-sha256",
        }
    }

    /// The same, as a node computes it.
    pub(crate) fn checksum(self) -> Checksum {
        match self {
            Algorithm::Crc32 => Checksum::Crc32,
            Algorithm::Crc32c => Checksum::Crc32c,
            Algorithm::Crc64 => Checksum::Crc64Nvme,
            Algorithm::Sha1 => Checksum::Sha1,
            Algorithm::Sha256 => Checksum::Sha256,
        }
    }

    /// Bytes of its value.
    pub(crate) fn length(self) -> usize {
        self.checksum().length()
    }

    /// How the checksum of two contents that follow each other is found from theirs, if it is.
    pub(crate) fn combined(self) -> Option<CrcAlgorithm> {
        match self {
            Algorithm::Crc32 => Some(CrcAlgorithm::Crc32IsoHdlc),
            Algorithm::Crc32c => Some(CrcAlgorithm::Crc32Iscsi),
            Algorithm::Crc64 => Some(CrcAlgorithm::Crc64Nvme),
            Algorithm::Sha1 | Algorithm::Sha256 => None,
        }
    }

    /// Its value among `checksums`.
    pub(crate) fn of(self, checksums: &Checksums) -> Option<Vec<u8>> {
        self.checksum().of(checksums)
    }

    /// Puts a value of the right length among `checksums`.
    pub(crate) fn set(self, checksums: &mut Checksums, value: &[u8]) {
        self.checksum().set(checksums, value);
    }

    /// The value that a header has.
    pub(crate) fn value(self, text: &str) -> S3Result<Vec<u8>> {
        let value = BASE64.decode(text.as_bytes()).ok();
        value.filter(|value| value.len() == self.length()).ok_or_else(|| {
            s3_error!(InvalidRequest, "Value for {} header is invalid.", self.header())
        })
    }
}
