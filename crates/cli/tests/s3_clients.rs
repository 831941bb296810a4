//! The clients that people have, against S3 of a real store: aws-cli, boto3, rclone and s3cmd. Each is left out, with a line
//! that says so, where it is not installed.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use served::content;
use signed::{ACCESS, S3, SECRET};

/// Files of several lengths in a folder of their own: with names that are hard on clients, and one that goes in parts.
fn tree(folder: &Path) -> PathBuf {
    let tree = folder.join("tree");
    for (name, length) in
        [("a.txt", 10), ("b c+d/é.bin", 70_000), ("deep/er/empty", 0), ("deep/long", 20_000_000)]
    {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        fs::write(path, content(length, u32::try_from(length).expect("short"))).expect("room");
    }
    tree
}

struct Client<'a> {
    s3: &'a S3,
    folder: &'a Path,
}

impl Client<'_> {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder)
            .env("HOME", self.folder)
            .env("AWS_ACCESS_KEY_ID", ACCESS)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_ENDPOINT_URL", format!("http://{}", self.s3.address))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_DEFAULT_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_CONFIG_FILE", self.folder.join("config"))
            .env_remove("AWS_CA_BUNDLE")
            .env_remove("AWS_PROFILE")
            .env("AWS_MAX_ATTEMPTS", "2");
        command
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{} {arguments:?}: {output:?}", program.display());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Whether a client is there, that answers this; its path. Where `pyenv` and the like keep programs, the home matters.
fn found(program: &str, version: &str) -> Option<PathBuf> {
    let which = Command::new(program).arg(version).output();
    if which.is_ok_and(|output| output.status.success()) {
        let path = Command::new("sh")
            .args(["-c", &format!("pyenv which {program} || command -v {program}")])
            .output();
        let path = String::from_utf8_lossy(&path.ok()?.stdout).trim().to_owned();
        return Some(PathBuf::from(path));
    }
    eprintln!("left out: `{program} {version}` does not run here");
    None
}

fn with_store(test: impl FnOnce(&Client<'_>)) {
    let folder = tempfile::tempdir().expect("a folder");
    // Presigned URLs are of signature version 2 unless this is said.
    let config = "[default]\ns3 =\n  signature_version = s3v4\n";
    fs::write(folder.path().join("config"), config).expect("room");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    test(&Client { s3: &s3, folder: folder.path() });
}

#[test]
fn aws_cli() {
    let Some(aws) = found("aws", "--version") else { return };
    with_store(|client| {
        let aws = |arguments: &[&str]| client.run(&aws, arguments);
        let tree = tree(client.folder);
        let tree = tree.to_str().expect("text");
        aws(&["s3", "mb", "s3://photos"]);
        aws(&["s3", "sync", tree, "s3://photos/tree"]);
        let listed = aws(&["s3", "ls", "--recursive", "s3://photos"]);
        assert_eq!(listed.lines().count(), 4, "{listed}");
        assert!(listed.contains("tree/b c+d/é.bin"), "{listed}");
        // Nothing has changed.
        assert_eq!(aws(&["s3", "sync", tree, "s3://photos/tree"]).trim(), "");
        aws(&["s3", "sync", "s3://photos/tree", "back"]);
        same(&client.folder.join("tree"), &client.folder.join("back"));
        aws(&["s3", "cp", "s3://photos/tree/deep/long", "s3://photos/copy"]);
        aws(&["s3", "mv", "s3://photos/copy", "s3://photos/moved"]);
        let url = aws(&["s3", "presign", "s3://photos/moved"]);
        assert!(url.contains("X-Amz-Signature"), "{url}");
        aws(&[
            "s3api",
            "put-object-tagging",
            "--bucket",
            "photos",
            "--key",
            "moved",
            "--tagging",
            "TagSet=[{Key=a,Value=b}]",
        ]);
        let tags = aws(&[
            "s3api",
            "get-object-tagging",
            "--bucket",
            "photos",
            "--key",
            "moved",
            "--output",
            "text",
        ]);
        assert!(tags.contains("TAGSET\ta\tb"), "{tags}");
        aws(&["s3", "rb", "--force", "s3://photos"]);
        assert!(!aws(&["s3", "ls"]).contains("photos"));
    });
}

fn same(one: &Path, other: &Path) {
    let output = Command::new("diff").arg("-r").args([one, other]).output().expect("diff");
    assert!(output.status.success(), "{output:?}");
}

/// A Python that has boto3, with an environment of its own if need be.
fn python() -> Option<PathBuf> {
    let has = |python: &Path| {
        let import = Command::new(python).args(["-c", "import boto3"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("boto3");
    let python = own.join("bin/python");
    if has(&python) {
        return Some(python);
    }
    let run = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    run(Command::new("python3").args(["-m", "venv"]).arg(&own));
    run(Command::new(&python).args(["-m", "pip", "install", "-q", "--timeout", "10", "boto3"]));
    if has(&python) {
        return Some(python);
    }
    eprintln!("left out: boto3 is not installed, and `pip install boto3` fails here");
    None
}

const BOTO3: &str = r#"
import hashlib, io, os, boto3
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError
s3 = boto3.client("s3")
s3.create_bucket(Bucket="boto")
long = os.urandom(26_000_000)
config = TransferConfig(multipart_threshold=8 << 20, multipart_chunksize=8 << 20)
s3.upload_fileobj(io.BytesIO(long), "boto", "long", Config=config, ExtraArgs={"Metadata": {"k": "v"}, "ContentType": "a/b"})
head = s3.head_object(Bucket="boto", Key="long", ChecksumMode="ENABLED")
assert head["ETag"].endswith('-4"') and head["Metadata"] == {"k": "v"} and head["ContentType"] == "a/b", head
out = io.BytesIO()
s3.download_fileobj("boto", "long", out, Config=config)
assert out.getvalue() == long
assert s3.get_object(Bucket="boto", Key="long", Range="bytes=5-9")["Body"].read() == long[5:10]
for algorithm in ["CRC32", "SHA1", "SHA256"]:
    put = s3.put_object(Bucket="boto", Key="k", Body=b"123", ChecksumAlgorithm=algorithm)
    got = s3.get_object(Bucket="boto", Key="k", ChecksumMode="ENABLED")
    assert got["Checksum" + algorithm] == put["Checksum" + algorithm] and got["Body"].read() == b"123"
assert put["ETag"].strip('"') == hashlib.md5(b"123").hexdigest()
def code(call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    return None
assert code(s3.put_object, Bucket="boto", Key="k", Body=b"x", IfNoneMatch="*") == ("PreconditionFailed", 412)
assert code(s3.get_object, Bucket="boto", Key="none") == ("NoSuchKey", 404)
assert code(s3.head_object, Bucket="boto", Key="none") == ("404", 404)
assert code(s3.get_bucket_policy, Bucket="boto") == ("NoSuchBucketPolicy", 404)
for n in range(25):
    s3.put_object(Bucket="boto", Key=f"many/{n:02}", Body=b"")
pages = s3.get_paginator("list_objects_v2").paginate(Bucket="boto", Prefix="many/", PaginationConfig={"PageSize": 10})
assert [o["Key"] for page in pages for o in page["Contents"]] == [f"many/{n:02}" for n in range(25)]
s3.put_bucket_versioning(Bucket="boto", VersioningConfiguration={"Status": "Enabled"})
one = s3.put_object(Bucket="boto", Key="v", Body=b"1")["VersionId"]
s3.put_object(Bucket="boto", Key="v", Body=b"2")
assert s3.get_object(Bucket="boto", Key="v", VersionId=one)["Body"].read() == b"1"
upload = s3.create_multipart_upload(Bucket="boto", Key="c")["UploadId"]
part = s3.upload_part_copy(Bucket="boto", Key="c", UploadId=upload, PartNumber=1, CopySource="boto/long", CopySourceRange="bytes=0-5242879")
last = s3.upload_part(Bucket="boto", Key="c", UploadId=upload, PartNumber=2, Body=b"end")
parts = [{"PartNumber": 1, "ETag": part["CopyPartResult"]["ETag"]}, {"PartNumber": 2, "ETag": last["ETag"]}]
s3.complete_multipart_upload(Bucket="boto", Key="c", UploadId=upload, MultipartUpload={"Parts": parts})
assert s3.get_object(Bucket="boto", Key="c")["Body"].read() == long[:5 << 20] + b"end"
attributes = s3.get_object_attributes(Bucket="boto", Key="c", ObjectAttributes=["ObjectParts", "ObjectSize"])
assert attributes["ObjectParts"]["TotalPartsCount"] == 2 and attributes["ObjectSize"] == (5 << 20) + 3
url = s3.generate_presigned_url("get_object", Params={"Bucket": "boto", "Key": "k"}, ExpiresIn=60)
import urllib.request
assert urllib.request.urlopen(url).read() == b"123"
versions = s3.list_object_versions(Bucket="boto")
gone = [{"Key": v["Key"], "VersionId": v["VersionId"]} for v in versions["Versions"]]
assert len(s3.delete_objects(Bucket="boto", Delete={"Objects": gone})["Deleted"]) == len(gone)
s3.delete_bucket(Bucket="boto")
print("fine")
"#;

#[test]
fn boto3() {
    let Some(python) = python() else { return };
    with_store(|client| {
        assert_eq!(client.run(&python, &["-c", BOTO3]).trim(), "fine");
    });
}

#[test]
fn rclone() {
    let Some(rclone) = found("rclone", "version") else { return };
    with_store(|client| {
        let remote = format!(
            ":s3,provider=Other,access_key_id={ACCESS},secret_access_key='{SECRET}',endpoint='http://{}':",
            client.s3.address
        );
        let at = |path: &str| format!("{remote}{path}");
        let rclone = |arguments: &[&str]| client.run(&rclone, arguments);
        let tree = tree(client.folder);
        let tree = tree.to_str().expect("text");
        rclone(&["mkdir", &at("photos")]);
        rclone(&[
            "sync",
            "--s3-chunk-size",
            "5Mi",
            "--s3-upload-cutoff",
            "5Mi",
            tree,
            &at("photos/tree"),
        ]);
        rclone(&["check", tree, &at("photos/tree")]);
        rclone(&["check", "--download", tree, &at("photos/tree")]);
        rclone(&["moveto", &at("photos/tree/deep/long"), &at("photos/moved")]);
        assert_eq!(rclone(&["lsf", "-R", "--files-only", &at("photos")]).lines().count(), 4);
        rclone(&["purge", &at("photos")]);
        assert!(!rclone(&["lsd", &remote]).contains("photos"));
    });
}

#[test]
fn s3cmd() {
    let Some(s3cmd) = found("s3cmd", "--version") else { return };
    with_store(|client| {
        let address = &client.s3.address;
        let place = [
            format!("--access_key={ACCESS}"),
            format!("--secret_key={SECRET}"),
            format!("--host={address}"),
            format!("--host-bucket={address}/%(bucket)"),
            "--no-ssl".into(),
            "--region=us-east-1".into(),
        ];
        let place: Vec<&str> = place.iter().map(|text| &text[..]).collect();
        let s3cmd = |arguments: &[&str]| client.run(&s3cmd, &[&place[..], arguments].concat());
        let tree = tree(client.folder);
        let tree = format!("{}/", tree.display());
        s3cmd(&["mb", "s3://photos"]);
        s3cmd(&["--multipart-chunk-size-mb=5", "sync", &tree, "s3://photos/tree/"]);
        let listed = s3cmd(&["ls", "-r", "s3://photos"]);
        assert_eq!(listed.lines().count(), 4, "{listed}");
        fs::create_dir(client.folder.join("back")).expect("room");
        s3cmd(&["sync", "s3://photos/tree/", "back/"]);
        same(&client.folder.join("tree"), &client.folder.join("back"));
        s3cmd(&["cp", "s3://photos/tree/a.txt", "s3://photos/copy"]);
        assert!(s3cmd(&["info", "s3://photos/copy"]).contains("File size: 10"));
        s3cmd(&["rb", "--recursive", "--force", "s3://photos"]);
    });
}
