//! GetObjectAttributes.

use s3s::dto::{
    Checksum, ETag, GetObjectAttributesInput, GetObjectAttributesOutput, GetObjectAttributesParts,
    ObjectPart,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_object::Object;

use crate::checksums::{etag, show, shown};
use crate::description::{STANDARD, class};
use crate::errors::of_content;
use crate::gateway::Gateway;
use crate::names::second_of;

const KNOWN: [&str; 5] = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"];

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetObjectAttributesInput>,
) -> S3Result<S3Response<GetObjectAttributesOutput>> {
    let GetObjectAttributesInput { bucket, key, version_id, object_attributes, .. } =
        &request.input;
    // Clients send them in one header.
    let all = object_attributes.iter().flat_map(|some| some.as_str().split(','));
    let wanted: Vec<&str> = all.map(str::trim).collect();
    if wanted.is_empty() || wanted.iter().any(|one| !KNOWN.contains(one)) {
        return Err(s3_error!(InvalidArgument, "Invalid attribute name specified"));
    }
    let found = gateway.find(bucket, key, version_id.as_deref()).await?;
    let object = &found.object;
    gateway.key_to_read(&request, object)?;
    let mut output = GetObjectAttributesOutput::default();
    output.last_modified = Some(second_of(object.modified));
    output.version_id = found.version_id();
    if wanted.contains(&"ETag") {
        output.e_tag = Some(ETag::Strong(etag(object)));
    }
    if wanted.contains(&"ObjectSize") {
        output.object_size = i64::try_from(object.size).ok();
    }
    if wanted.contains(&"StorageClass") {
        output.storage_class = Some(class(object).unwrap_or(STANDARD).to_owned().into());
    }
    if wanted.contains(&"Checksum") {
        let mut checksum = Checksum::default();
        checksum.checksum_type = show!(checksum, shown(object));
        output.checksum = checksum.checksum_type.is_some().then_some(checksum);
    }
    if wanted.contains(&"ObjectParts") && object.parts > 0 {
        let (most, after) = (request.input.max_parts, request.input.part_number_marker);
        output.object_parts = Some(gateway.parts(object, (most, after)).await?);
    }
    Ok(S3Response::new(output))
}

impl Gateway {
    /// The parts of an object, after this number.
    async fn parts(
        &self,
        object: &Object,
        (most, after): (Option<i32>, Option<i32>),
    ) -> S3Result<GetObjectAttributesParts> {
        let sizes = self.objects.part_sizes(object).await.map_err(|error| of_content(&error))?;
        let after = after.and_then(|after| usize::try_from(after).ok()).unwrap_or(0);
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(1000).min(1000);
        let one = |(place, size): (usize, &u64)| {
            let mut part = ObjectPart::default();
            part.part_number = i32::try_from(place + 1).ok();
            part.size = i64::try_from(*size).ok();
            part
        };
        let page: Vec<_> = sizes.iter().enumerate().skip(after).take(most).map(one).collect();
        let mut parts = GetObjectAttributesParts::default();
        parts.is_truncated = Some(after + page.len() < sizes.len());
        parts.max_parts = i32::try_from(most).ok();
        parts.part_number_marker = i32::try_from(after).ok();
        parts.next_part_number_marker = i32::try_from(after + page.len()).ok();
        parts.total_parts_count = i32::try_from(sizes.len()).ok();
        // AWS gives the parts themselves only where they have checksums, of which none are kept after completion.
        parts.parts = Some(page);
        Ok(parts)
    }
}
