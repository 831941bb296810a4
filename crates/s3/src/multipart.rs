//! Uploads in parts.

use data_encoding::HEXLOWER_PERMISSIVE;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, ChecksumAlgorithm, ChecksumType,
    CompleteMultipartUploadInput, CompleteMultipartUploadOutput, CompletedPart,
    CreateMultipartUploadInput, CreateMultipartUploadOutput, ETag,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{FoundBucket, FoundPart, FoundUpload, ObjectError, Whole, version_of};
use slotcast_object::notification::EventKind;
use slotcast_object::{
    BucketId, MAX_PARTS, Name, NameRecord, Object, Outcome, RequestKey, VersionId,
};

use crate::algorithm::Algorithm;
use crate::checksums::{etag, given, mismatch, of_parts, show, shown};
use crate::conditions::Wanted;
use crate::encryption::{show_encryption, told};
use crate::errors::of_object;
use crate::gateway::Gateway;
use crate::names::{made_version, object_name, request_key};
use crate::notification::cause;
use crate::{description, lifecycle, object_lock, refusals};

/// Among what is said of an upload: how its checksums are computed.
const CHECKSUM: &str = ":upload-checksum";

/// Among what is said of an upload: how long the object is going to be kept.
const LOCK: &str = ":upload-lock";

/// The fewest bytes of a part, but for the last one, as AWS documents it.
const MIN_PART: u64 = 5 << 20;

/// How the checksums of an upload are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summed {
    pub(crate) algorithm: Algorithm,
    /// The whole has a checksum of those of its parts, and not of its content.
    of_parts: bool,
    /// The client has asked for it.
    pub(crate) is_asked: bool,
}

impl Summed {
    fn of_request(request: &S3Request<CreateMultipartUploadInput>) -> S3Result<Summed> {
        let input = &request.input;
        let named = match &input.checksum_algorithm {
            Some(name) => Some(Algorithm::read(name.as_str())?),
            None => None,
        };
        let kind = input.checksum_type.as_ref().map(ChecksumType::as_str);
        if named.is_none() && kind.is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            ));
        }
        let algorithm = named.unwrap_or(Algorithm::Crc64);
        let is_possible = |of_parts: bool| match algorithm {
            Algorithm::Crc64 => !of_parts,
            Algorithm::Sha1 | Algorithm::Sha256 => of_parts,
            Algorithm::Crc32 | Algorithm::Crc32c => true,
        };
        let of_parts = match kind {
            None => algorithm != Algorithm::Crc64,
            Some(ChecksumType::COMPOSITE) => true,
            Some(ChecksumType::FULL_OBJECT) => false,
            Some(_) => {
                return Err(s3_error!(
                    InvalidRequest,
                    "Value for x-amz-checksum-type header is invalid."
                ));
            }
        };
        match is_possible(of_parts) {
            true => Ok(Summed { algorithm, of_parts, is_asked: named.is_some() }),
            false => Err(s3_error!(
                InvalidRequest,
                "The {} checksum type cannot be used with the {} checksum algorithm.",
                kind.unwrap_or(""),
                algorithm.name()
            )),
        }
    }

    fn text(self) -> String {
        format!("{} {} {}", self.algorithm.name(), self.of_parts, self.is_asked)
    }

    /// That of an upload.
    pub(crate) fn of(upload: &Object) -> Summed {
        let text = upload.metadata.get(CHECKSUM).map_or("", |text| text);
        let mut words = text.split(' ');
        let algorithm = words.next().and_then(|name| Algorithm::read(name).ok());
        Summed {
            algorithm: algorithm.unwrap_or(Algorithm::Crc64),
            of_parts: words.next() == Some("true"),
            is_asked: words.next() == Some("true"),
        }
    }

    pub(crate) fn name(self) -> Option<ChecksumAlgorithm> {
        self.is_asked.then(|| ChecksumAlgorithm::from_static(self.algorithm.name()))
    }

    pub(crate) fn kind(self) -> Option<ChecksumType> {
        let kind = if self.of_parts { ChecksumType::COMPOSITE } else { ChecksumType::FULL_OBJECT };
        self.is_asked.then(|| ChecksumType::from_static(kind))
    }
}

pub(crate) fn no_upload() -> S3Error {
    s3_error!(
        NoSuchUpload,
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed."
    )
}

/// The upload of this id.
pub(crate) fn upload_id(text: &str) -> S3Result<VersionId> {
    version_of(text).ok_or_else(no_upload)
}

/// The number of a part.
pub(crate) fn part_number(number: i32) -> S3Result<u32> {
    let number = u32::try_from(number).ok().filter(|number| (1..=MAX_PARTS).contains(number));
    number.ok_or_else(|| {
        s3_error!(InvalidArgument, "Part number must be an integer between 1 and 10000, inclusive")
    })
}

impl Gateway {
    /// An upload that is under way.
    pub(crate) async fn upload(
        &self,
        (bucket, key, id): (&str, &str, &str),
    ) -> S3Result<(FoundBucket, FoundUpload)> {
        let (name, id) = (object_name(key)?, upload_id(id)?);
        let bucket = self.bucket(bucket).await?;
        let upload = self.objects.upload((&bucket, &name), id).await.map_err(of_object)?;
        Ok((bucket, upload))
    }
}

pub(crate) async fn create(
    gateway: &Gateway,
    request: S3Request<CreateMultipartUploadInput>,
) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
    refusals::check(&request.headers)?;
    let (name, key) = (object_name(&request.input.key)?, request_key(&request)?);
    let mut object = description::of_headers(&request.headers, request.input.metadata.as_ref())?;
    let summed = Summed::of_request(&request)?;
    object.metadata.insert(CHECKSUM.into(), summed.text());
    let bucket = gateway.bucket(&request.input.bucket).await?;
    let lock = object_lock::checked(&request.headers, &bucket)?;
    object.metadata.extend(lock.text().map(|text| (LOCK.into(), text)));
    let encryption = gateway.encryption(&request.headers, request.extensions.get().copied())?;
    let what = (object, encryption.encrypt());
    let begun = gateway.objects.begin_upload((&bucket, &name), key, what).await;
    let (id, object) = begun.map_err(of_object)?;
    let mut output = CreateMultipartUploadOutput::default();
    output.bucket = Some(request.input.bucket);
    output.key = Some(request.input.key);
    output.upload_id = Some(slotcast_node::text_of(id));
    (output.checksum_algorithm, output.checksum_type) = (summed.name(), summed.kind());
    show_encryption!(output, &object, encryption.customer.as_ref());
    Ok(S3Response::new(output))
}

pub(crate) async fn abort(
    gateway: &Gateway,
    request: S3Request<AbortMultipartUploadInput>,
) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
    let AbortMultipartUploadInput { bucket, key, upload_id: id, .. } = &request.input;
    let (name, id) = (object_name(key)?, upload_id(id)?);
    let bucket = gateway.bucket(bucket).await?;
    gateway.objects.abort((&bucket, &name), id).await.map_err(of_object)?;
    Ok(S3Response::new(AbortMultipartUploadOutput::default()))
}

/// The key of what completes an upload with these parts: it is the same however often that is asked for, and by whom.
fn completion_key(
    (bucket, name): (BucketId, &Name),
    upload: VersionId,
    parts: &[CompletedPart],
) -> RequestKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"complete");
    for number in [bucket.0, upload.change, upload.salt] {
        hasher.update(&number.to_le_bytes());
    }
    for part in parts {
        hasher.update(&part.part_number.unwrap_or(0).to_le_bytes());
        // Of whatever length, the next one begins after it.
        let tag = part.e_tag.as_ref().map_or("", ETag::value).as_bytes();
        hasher.update(blake3::hash(tag).as_bytes());
    }
    let hash = hasher.update(name.as_str().as_bytes()).finalize();
    let half = hash.as_bytes().first_chunk::<16>();
    RequestKey(half.map_or(0, |bytes| u128::from_be_bytes(*bytes)))
}

/// The version that an upload has become, if it has.
fn completed(record: Option<&NameRecord>, key: RequestKey) -> Option<VersionId> {
    let mut recent = record?.recent.iter();
    recent.find_map(|(done, outcome)| match outcome {
        Outcome::Stored(version) if *done == key => Some(*version),
        _ => None,
    })
}

/// The parts that a client wants, as they are stored.
fn chosen(wanted: &[CompletedPart], there: &[FoundPart]) -> S3Result<Vec<FoundPart>> {
    let mut chosen: Vec<FoundPart> = Vec::with_capacity(wanted.len());
    let wrong = || {
        s3_error!(
            InvalidPart,
            "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag."
        )
    };
    for part in wanted {
        let number = part_number(part.part_number.unwrap_or(0))?;
        if chosen.last().is_some_and(|last| last.number >= number) {
            return Err(s3_error!(
                InvalidPartOrder,
                "The list of parts was not in ascending order. The parts list must be specified in order by part number."
            ));
        }
        let place = there.binary_search_by_key(&number, |part| part.number);
        let found = &there[place.map_err(|_| wrong())?];
        let tag = part.e_tag.as_ref().map(ETag::value);
        if tag != Some(&etag(&found.object)) {
            return Err(wrong());
        }
        for (algorithm, text) in [
            (Algorithm::Crc32, &part.checksum_crc32),
            (Algorithm::Crc32c, &part.checksum_crc32c),
            (Algorithm::Crc64, &part.checksum_crc64nvme),
            (Algorithm::Sha1, &part.checksum_sha1),
            (Algorithm::Sha256, &part.checksum_sha256),
        ] {
            if let Some(text) = text
                && Some(algorithm.value(text)?) != algorithm.of(&found.object.checksums)
            {
                return Err(wrong());
            }
        }
        chosen.push(found.clone());
    }
    let all_but_last = &chosen[..chosen.len().saturating_sub(1)];
    if all_but_last.iter().any(|part| part.object.size < MIN_PART) {
        return Err(s3_error!(
            EntityTooSmall,
            "Your proposed upload is smaller than the minimum allowed size"
        ));
    }
    Ok(chosen)
}

/// The entity tag of the parts that a client names.
fn tag_of(wanted: &[CompletedPart]) -> Option<String> {
    let mut md5 = Md5::new();
    for part in wanted {
        let tag = part.e_tag.as_ref()?.value();
        md5.update(&HEXLOWER_PERMISSIVE.decode(tag.as_bytes()).ok()?);
    }
    Some(format!("{}-{}", data_encoding::HEXLOWER.encode(&md5.finalize()), wanted.len()))
}

/// What a client says of the whole.
fn check_whole(
    request: &S3Request<CompleteMultipartUploadInput>,
    object: &Object,
    size: u64,
) -> S3Result<()> {
    if let Some((algorithm, value)) = given(&request.headers)? {
        match algorithm.of(&object.checksums) {
            None => {
                return Err(s3_error!(
                    InvalidRequest,
                    "The upload has another checksum than {}",
                    algorithm.header()
                ));
            }
            Some(computed) if !object.checksums.of_parts && computed != value => {
                return Err(mismatch(algorithm));
            }
            Some(_) => {}
        }
    }
    let said = request.headers.get("x-amz-mp-object-size");
    if let Some(said) = said.and_then(|said| said.to_str().ok())
        && said.parse() != Ok(size)
    {
        return Err(s3_error!(
            InvalidRequest,
            "The provided 'x-amz-mp-object-size' header value {said} does not match what was computed: {size}"
        ));
    }
    Ok(())
}

impl Gateway {
    /// All parts of an upload, in order.
    async fn all_parts(&self, upload: &FoundUpload) -> S3Result<Vec<FoundPart>> {
        let mut all: Vec<FoundPart> = Vec::new();
        loop {
            let after = all.last().map_or(0, |part| part.number);
            let page = self.objects.parts_of(upload, after, 1000).await;
            let (page, is_more) = page.map_err(of_object)?;
            let is_over = page.is_empty() || !is_more;
            all.extend(page);
            if is_over {
                return Ok(all);
            }
        }
    }
}

pub(crate) async fn complete(
    gateway: &Gateway,
    request: S3Request<CompleteMultipartUploadInput>,
) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
    let input = &request.input;
    let (name, id) = (object_name(&input.key)?, upload_id(&input.upload_id)?);
    let parts = input.multipart_upload.as_ref().and_then(|upload| upload.parts.as_deref());
    let wanted_parts = parts.unwrap_or(&[]);
    if wanted_parts.is_empty() {
        return Err(s3_error!(
            MalformedXML,
            "The XML you provided was not well-formed or did not validate against our published schema"
        ));
    }
    let bucket = gateway.bucket(&input.bucket).await?;
    let key = completion_key((bucket.bucket.id, &name), id, wanted_parts);
    let (record, _) = gateway.objects.record(&bucket, &name).await.map_err(of_object)?;
    let mut output = CompleteMultipartUploadOutput::default();
    output.bucket = Some(input.bucket.clone());
    output.key = Some(input.key.clone());
    output.location = Some(format!("/{}/{}", input.bucket, input.key));
    let upload = match gateway.objects.upload((&bucket, &name), id).await {
        Ok(upload) => upload,
        Err(ObjectError::NoUpload(..)) => {
            // A retry, of a request that took effect and whose answer was lost.
            let version = completed(record.as_ref(), key).ok_or_else(no_upload)?;
            output.e_tag = tag_of(wanted_parts).map(ETag::Strong);
            output.version_id = made_version(bucket.bucket.versioning, version);
            return Ok(S3Response::new(output));
        }
        Err(error) => return Err(of_object(error)),
    };
    let chosen = chosen(wanted_parts, &gateway.all_parts(&upload).await?)?;
    let summed = Summed::of(&upload.object);
    let mut object = upload.object.clone();
    object.metadata.remove(CHECKSUM);
    if let Some(text) = object.metadata.remove(LOCK) {
        object_lock::Wanted::read(&text).put(&mut object, &bucket.bucket)?;
    }
    object.checksums =
        of_parts(chosen.iter().map(|part| &part.object), Some((summed.algorithm, summed.of_parts)));
    check_whole(&request, &object, chosen.iter().map(|part| part.object.size).sum())?;
    let wanted =
        Wanted { if_match: input.if_match.clone(), if_none_match: input.if_none_match.clone() };
    let condition = wanted.of(record.as_ref(), key)?;
    let cause = cause(&request, EventKind::CreatedComplete);
    let whole = Whole { upload: &upload, parts: &chosen, key, condition, object, cause };
    let completed = gateway.objects.complete((&bucket, &name), whole).await;
    let (version, object) = completed.map_err(|error| wanted.told(error))?;
    output.e_tag = Some(ETag::Strong(etag(&object)));
    output.checksum_type = show!(output, shown(&object));
    output.version_id = made_version(bucket.bucket.versioning, version);
    output.server_side_encryption = told(&object, None).by_server;
    let day = gateway.objects.lifecycle_day();
    output.expiration = lifecycle::told(&bucket.bucket, name.as_str(), &object, day);
    Ok(S3Response::new(output))
}

#[cfg(test)]
mod tests {
    use slotcast_object::Checksums;

    use super::*;

    fn part(number: u32, size: u64) -> FoundPart {
        let md5 = Some([u8::try_from(number).expect("few"); 16]);
        let checksums = Checksums { md5, crc32: Some(number), ..Checksums::default() };
        FoundPart { number, object: Object { size, checksums, ..Object::default() } }
    }

    fn wanted(number: i32, tag: u8) -> CompletedPart {
        let mut part = CompletedPart::default();
        part.part_number = Some(number);
        part.e_tag = Some(ETag::Strong(data_encoding::HEXLOWER.encode(&[tag; 16])));
        part
    }

    #[test]
    fn parts_are_those_that_the_client_means() {
        let there = [part(1, MIN_PART), part(2, MIN_PART - 1), part(7, 1)];
        let said = |wanted: &[CompletedPart]| match chosen(wanted, &there) {
            Ok(parts) => format!("{:?}", parts.iter().map(|part| part.number).collect::<Vec<_>>()),
            Err(error) => error.code().as_str().to_owned(),
        };
        assert_eq!(said(&[wanted(1, 1), wanted(7, 7)]), "[1, 7]");
        assert_eq!(said(&[wanted(1, 1), wanted(2, 2)]), "[1, 2]");
        assert_eq!(said(&[wanted(2, 2), wanted(7, 7)]), "EntityTooSmall");
        assert_eq!(said(&[wanted(7, 7), wanted(1, 1)]), "InvalidPartOrder");
        assert_eq!(said(&[wanted(1, 1), wanted(1, 1)]), "InvalidPartOrder");
        assert_eq!(said(&[wanted(1, 2)]), "InvalidPart");
        assert_eq!(said(&[wanted(3, 3)]), "InvalidPart");
        assert_eq!(said(&[wanted(0, 0)]), "InvalidArgument");
        let mut summed = wanted(1, 1);
        summed.checksum_crc32 = Some(data_encoding::BASE64.encode(&1_u32.to_be_bytes()));
        assert_eq!(said(std::slice::from_ref(&summed)), "[1]");
        summed.checksum_crc32 = Some(data_encoding::BASE64.encode(&2_u32.to_be_bytes()));
        assert_eq!(said(&[summed]), "InvalidPart");
    }

    #[test]
    fn another_list_of_parts_is_another_request() {
        let name = Name::new("n").expect("a name");
        let upload = VersionId { change: 1, salt: 2 };
        let key = |parts: &[CompletedPart]| completion_key((BucketId(1), &name), upload, parts);
        let both = [wanted(1, 1), wanted(2, 2)];
        assert_eq!(key(&both), key(&both.clone()));
        assert_ne!(key(&both), key(&both[..1]));
        assert_ne!(key(&both), key(&[wanted(1, 1), wanted(2, 3)]));
        assert_ne!(key(&both), key(&[wanted(1, 1), wanted(3, 2)]));
    }

    #[test]
    fn the_tag_of_a_whole_is_found_from_what_the_client_names() {
        let parts = [part(1, MIN_PART), part(2, 1)];
        let all = of_parts(parts.iter().map(|part| &part.object), None);
        let whole = Object { checksums: all, parts: 2, ..Object::default() };
        assert_eq!(tag_of(&[wanted(1, 1), wanted(2, 2)]), Some(etag(&whole)));
    }

    #[test]
    fn how_checksums_are_computed_is_read_as_it_is_written() {
        for algorithm in Algorithm::ALL {
            for (of_parts, is_asked) in [(false, false), (true, false), (false, true)] {
                let summed = Summed { algorithm, of_parts, is_asked };
                let mut upload = Object::default();
                upload.metadata.insert(CHECKSUM.into(), summed.text());
                assert_eq!(Summed::of(&upload), summed);
            }
        }
    }
}
