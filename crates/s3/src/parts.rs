//! Parts of uploads, and uploads that are under way: UploadPart, UploadPartCopy, ListParts, ListMultipartUploads.

use futures_util::{StreamExt, stream};
use s3s::dto::{
    CopyPartResult, ETag, Initiator, ListMultipartUploadsInput, ListMultipartUploadsOutput,
    ListPartsInput, ListPartsOutput, MultipartUpload, Part, Range, UploadPartCopyInput,
    UploadPartCopyOutput, UploadPartInput, UploadPartOutput,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{FoundPart, NewPart, now_ms, text_of};
use slotcast_object::Object;

use crate::buckets::owner;
use crate::checksums::{Announced, etag, show, shown};
use crate::conditions::reading_source;
use crate::description::{STANDARD, class};
use crate::encryption::show_encryption;
use crate::errors::{of_content, of_object};
use crate::gateway::Gateway;
use crate::get::tag_and_time;
use crate::listing::{Encoding, common, limit};
use crate::multipart::{Summed, part_number};
use crate::names::time_of;
use crate::put::{MAX_PUT, length};
use crate::refusals;
use crate::versions::{Kind, One, Wanted, collect};

pub(crate) async fn put(
    gateway: &Gateway,
    mut request: S3Request<UploadPartInput>,
) -> S3Result<S3Response<UploadPartOutput>> {
    refusals::check(&request.headers)?;
    let number = part_number(request.input.part_number)?;
    let length = length(&request.headers, request.input.content_length)?;
    let content = request.input.body.take();
    let UploadPartInput { bucket, key, upload_id, .. } = &request.input;
    let (_, upload) = gateway.upload((bucket, key, upload_id)).await?;
    let customer = gateway.key_of_part(&request, &upload.object)?;
    let summed = Summed::of(&upload.object);
    let announced =
        Announced::of(&request.headers, request.trailing_headers.as_ref(), Some(summed.algorithm))?;
    if summed.is_asked && announced.algorithm != summed.algorithm {
        return Err(s3_error!(
            InvalidRequest,
            "Checksum Type mismatch occurred, expected checksum Type: {}, actual checksum Type: {}",
            summed.algorithm.name().to_lowercase(),
            announced.algorithm.name().to_lowercase()
        ));
    }
    let is_shown = announced.is_asked || summed.is_asked;
    let incoming = announced.incoming(Some(length));
    let (content, seal) = announced.pass(stream::iter(content).flatten(), Some(length));
    let object = Object { modified: now_ms(), ..Object::default() };
    let part = NewPart { number, object, seal: Some(seal) };
    let part = (part, customer.as_ref().map(|customer| &customer.key));
    let stored = gateway.objects.put_part(&upload, part, incoming, content).await;
    let object = stored.map_err(of_object)?;
    let mut output = UploadPartOutput::default();
    show_encryption!(output, &upload.object, customer.as_ref());
    output.e_tag = Some(ETag::Strong(etag(&object)));
    if is_shown {
        show!(output, shown(&object));
    }
    Ok(S3Response::new(output))
}

/// The bytes of a source that become a part.
fn range(text: Option<&str>, size: u64) -> S3Result<std::ops::Range<u64>> {
    let Some(text) = text else { return Ok(0..size) };
    let wrong = || {
        s3_error!(
            InvalidArgument,
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy"
        )
    };
    match Range::parse(text) {
        Ok(Range::Int { first, last: Some(last) }) if first <= last => match last < size {
            true => Ok(first..last + 1),
            false => Err(s3_error!(
                InvalidArgument,
                "Range specified is not valid for source object of size: {size}"
            )),
        },
        _ => Err(wrong()),
    }
}

pub(crate) async fn copy(
    gateway: &Gateway,
    request: S3Request<UploadPartCopyInput>,
) -> S3Result<S3Response<UploadPartCopyOutput>> {
    refusals::check(&request.headers)?;
    let input = &request.input;
    let number = part_number(input.part_number)?;
    let place = (&input.bucket[..], &input.key[..], &input.upload_id[..]);
    let (_, upload) = gateway.upload(place).await?;
    let reading = reading_source!(input);
    let found = gateway.source(&input.copy_source, &reading).await?;
    let source_key = gateway.key_of_source(&request, &found.object)?;
    let customer = gateway.key_of_part(&request, &upload.object)?;
    let range = range(input.copy_source_range.as_deref(), found.object.size)?;
    let length = range.end - range.start;
    if length > MAX_PUT {
        return Err(s3_error!(
            EntityTooLarge,
            "Your proposed upload exceeds the maximum allowed size"
        ));
    }
    let summed = Summed::of(&upload.object);
    let announced =
        Announced::of(&request.headers, request.trailing_headers.as_ref(), Some(summed.algorithm))?;
    // It is read to know its checksums; what of it is stored is not sent to any target again.
    let decrypt = source_key.as_ref().map(|customer| &customer.key);
    let content = gateway.objects.read(&found.object, decrypt, range).await;
    let content = content.map_err(|error| of_content(&error))?;
    let incoming = announced.incoming(Some(length));
    let (content, seal) =
        announced.pass(content.map(|piece| piece.map_err(Into::into)), Some(length));
    let object = Object { modified: now_ms(), ..Object::default() };
    let part = NewPart { number, object, seal: Some(seal) };
    let part = (part, customer.as_ref().map(|customer| &customer.key));
    let stored = gateway.objects.put_part(&upload, part, incoming, content).await;
    let object = stored.map_err(of_object)?;
    let (e_tag, last_modified) = tag_and_time(&object);
    let mut result = CopyPartResult::default();
    (result.e_tag, result.last_modified) = (Some(e_tag), Some(last_modified));
    if summed.is_asked {
        show!(result, shown(&object));
    }
    let mut output = UploadPartCopyOutput::default();
    output.copy_part_result = Some(result);
    show_encryption!(output, &upload.object, customer.as_ref());
    output.copy_source_version_id = found.version_id();
    Ok(S3Response::new(output))
}

fn initiator() -> Initiator {
    let owner = owner();
    let mut initiator = Initiator::default();
    (initiator.display_name, initiator.id) = (owner.display_name, owner.id);
    initiator
}

fn listed(found: &FoundPart, is_shown: bool) -> Part {
    let mut part = Part::default();
    part.part_number = i32::try_from(found.number).ok();
    part.e_tag = Some(ETag::Strong(etag(&found.object)));
    part.last_modified = Some(time_of(found.object.modified));
    part.size = i64::try_from(found.object.size).ok();
    if is_shown {
        show!(part, shown(&found.object));
    }
    part
}

pub(crate) async fn list(
    gateway: &Gateway,
    request: S3Request<ListPartsInput>,
) -> S3Result<S3Response<ListPartsOutput>> {
    let input = request.input;
    let limit = limit(input.max_parts, "max-parts")?;
    let after = match input.part_number_marker {
        None => 0,
        Some(marker) => u32::try_from(marker).map_err(|_| {
            s3_error!(
                InvalidArgument,
                "Argument part-number-marker must be an integer between 0 and 2147483647"
            )
        })?,
    };
    let place = (&input.bucket[..], &input.key[..], &input.upload_id[..]);
    let (_, upload) = gateway.upload(place).await?;
    let summed = Summed::of(&upload.object);
    let is_none = limit == 0 || after >= slotcast_object::MAX_PARTS;
    let (parts, is_more) = match is_none {
        true => (Vec::new(), false),
        false => gateway.objects.parts_of(&upload, after, limit).await.map_err(of_object)?,
    };
    let mut output = ListPartsOutput::default();
    output.is_truncated = Some(is_more);
    output.next_part_number_marker = parts.last().and_then(|part| i32::try_from(part.number).ok());
    output.parts = Some(parts.iter().map(|part| listed(part, summed.is_asked)).collect());
    output.part_number_marker = i32::try_from(after).ok();
    output.max_parts = i32::try_from(limit).ok();
    output.storage_class = Some(class(&upload.object).unwrap_or(STANDARD).to_owned().into());
    (output.checksum_algorithm, output.checksum_type) = (summed.name(), summed.kind());
    (output.owner, output.initiator) = (Some(owner()), Some(initiator()));
    output.bucket = Some(input.bucket);
    output.key = Some(input.key);
    output.upload_id = Some(input.upload_id);
    Ok(S3Response::new(output))
}

fn upload(one: &One, encoding: Encoding) -> Option<MultipartUpload> {
    let object = one.version.object.as_ref()?.object()?;
    let summed = Summed::of(object);
    let mut upload = MultipartUpload::default();
    upload.key = Some(encoding.of(one.name.as_str()));
    upload.upload_id = Some(text_of(one.version.id));
    upload.initiated = Some(time_of(object.modified));
    upload.storage_class = Some(class(object).unwrap_or(STANDARD).to_owned().into());
    (upload.checksum_algorithm, upload.checksum_type) = (summed.name(), summed.kind());
    (upload.owner, upload.initiator) = (Some(owner()), Some(initiator()));
    Some(upload)
}

pub(crate) async fn uploads(
    gateway: &Gateway,
    request: S3Request<ListMultipartUploadsInput>,
) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
    let input = request.input;
    let encoding = Encoding::read(input.encoding_type.as_ref())?;
    let limit = limit(input.max_uploads, "max-uploads")?;
    let bucket = gateway.bucket(&input.bucket).await?;
    let key_marker = input.key_marker.as_deref().unwrap_or("");
    let wanted = Wanted {
        prefix: input.prefix.as_deref().unwrap_or(""),
        delimiter: input.delimiter.as_deref(),
        key_marker,
        // Without a key it means nothing, as AWS documents it.
        id_marker: input.upload_id_marker.as_deref().filter(|_| !key_marker.is_empty()),
        limit: limit as usize,
    };
    let page = collect((gateway, &bucket, Kind::Uploads), wanted).await?;
    let mut output = ListMultipartUploadsOutput::default();
    output.uploads = Some(page.entries.iter().filter_map(|one| upload(one, encoding)).collect());
    output.common_prefixes = Some(common(&page.prefixes, encoding));
    output.is_truncated = Some(page.next.is_some());
    if let Some((key, id)) = page.next {
        output.next_key_marker = Some(encoding.of(&key));
        output.next_upload_id_marker = id;
    }
    output.bucket = Some(input.bucket);
    output.prefix = Some(encoding.of(input.prefix.as_deref().unwrap_or("")));
    output.key_marker = Some(encoding.of(key_marker));
    output.upload_id_marker = Some(input.upload_id_marker.unwrap_or_default());
    output.delimiter = input.delimiter.as_deref().map(|text| encoding.of(text));
    output.max_uploads = i32::try_from(limit).ok();
    output.encoding_type = input.encoding_type;
    Ok(S3Response::new(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_sources_have_both_ends() {
        let said = |text: Option<&str>| match range(text, 10) {
            Ok(range) => format!("{range:?}"),
            Err(error) => error.code().as_str().to_owned(),
        };
        assert_eq!(said(None), "0..10");
        assert_eq!(said(Some("bytes=0-9")), "0..10");
        assert_eq!(said(Some("bytes=3-3")), "3..4");
        for wrong in ["bytes=0-10", "bytes=3-", "bytes=-3", "bytes=4-3", "0-3", "bytes=0-1,3-4"] {
            assert_eq!(said(Some(wrong)), "InvalidArgument", "{wrong}");
        }
    }
}
