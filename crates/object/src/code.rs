//! How records, rows and messages are written: CBOR (RFC 8949) with a number for each field, so that fields can be
//! added. A reader takes what it does not know for absent, and refuses what it cannot read.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

/// What `value` is in bytes.
pub(crate) fn encode<T: Encode<()>>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = minicbor::encode(value, &mut bytes);
    bytes
}

/// What these bytes say; none if they are something else, or more.
pub(crate) fn decode<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Option<T> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let value = decoder.decode().ok()?;
    (decoder.position() == bytes.len()).then_some(value)
}

/// A target, by its number.
pub(crate) mod target {
    use minicbor::encode::{Error, Write};
    use minicbor::{Decoder, Encoder};
    use slotcast_protocol::TargetId;

    pub(crate) fn encode<C, W: Write>(
        target: &TargetId,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), Error<W::Error>> {
        e.u32(target.0)?.ok()
    }

    pub(crate) fn decode<C>(
        d: &mut Decoder<'_>,
        _: &mut C,
    ) -> Result<TargetId, minicbor::decode::Error> {
        d.u32().map(TargetId)
    }
}

/// A number of 128 bits, as its bytes.
pub(crate) mod u128 {
    use minicbor::encode::{Error, Write};
    use minicbor::{Decoder, Encoder};

    pub(crate) fn encode<C, W: Write>(
        number: &u128,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), Error<W::Error>> {
        e.bytes(&number.to_be_bytes())?.ok()
    }

    pub(crate) fn decode<C>(
        d: &mut Decoder<'_>,
        _: &mut C,
    ) -> Result<u128, minicbor::decode::Error> {
        let bytes = d.bytes()?.try_into();
        bytes.map(u128::from_be_bytes).map_err(|_| minicbor::decode::Error::message("not 16 bytes"))
    }
}

/// The name of a chunk, as its bytes.
pub(crate) mod chunk {
    use minicbor::encode::{Error, Write};
    use minicbor::{Decoder, Encoder};
    use slotcast_protocol::ChunkId;

    pub(crate) fn encode<C, W: Write>(
        chunk: &ChunkId,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), Error<W::Error>> {
        e.bytes(&chunk.0)?.ok()
    }

    pub(crate) fn decode<C>(
        d: &mut Decoder<'_>,
        _: &mut C,
    ) -> Result<ChunkId, minicbor::decode::Error> {
        let bytes = d.bytes()?.try_into();
        bytes.map(ChunkId).map_err(|_| minicbor::decode::Error::message("not 32 bytes"))
    }
}

/// Bytes of content.
pub(crate) mod content {
    use bytes::Bytes;
    use minicbor::encode::{Error, Write};
    use minicbor::{Decoder, Encoder};

    pub(crate) fn encode<C, W: Write>(
        content: &Bytes,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), Error<W::Error>> {
        e.bytes(content)?.ok()
    }

    pub(crate) fn decode<C>(
        d: &mut Decoder<'_>,
        _: &mut C,
    ) -> Result<Bytes, minicbor::decode::Error> {
        d.bytes().map(Bytes::copy_from_slice)
    }
}
