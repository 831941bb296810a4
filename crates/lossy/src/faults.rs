//! Which operations fail, stall or are answered without being carried out. Pure.

use std::path::Path;

use crate::volume::Error;

/// What a program asks of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// `stat`, and the search for a name.
    Stat,
    /// `open` of a file that is there.
    Open,
    /// `read`.
    Read,
    /// `write`.
    Write,
    /// `ftruncate`.
    Resize,
    /// `fallocate`.
    Reserve,
    /// `fsync` and `fdatasync` of a file.
    Flush,
    /// Creation of a file.
    Create,
    /// `mkdir`.
    MakeFolder,
    /// `unlink` and `rmdir`.
    Remove,
    /// `rename`; the path is the one before.
    Rename,
    /// `readdir`.
    List,
    /// `fsync` of a folder.
    FlushFolder,
}

impl Operation {
    /// Those that change something or put it on stable storage.
    pub const CHANGES: [Operation; 9] = [
        Operation::Write,
        Operation::Resize,
        Operation::Reserve,
        Operation::Flush,
        Operation::Create,
        Operation::MakeFolder,
        Operation::Remove,
        Operation::Rename,
        Operation::FlushFolder,
    ];
}

/// What happens instead of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It fails and changes nothing.
    Fail(Error),
    /// It is not answered until the rule is withdrawn. The process that waits cannot be killed meanwhile.
    Stall,
    /// It is answered as if it were carried out. Of [`Operation::Write`], [`Operation::Flush`] and
    /// [`Operation::FlushFolder`] only; others are carried out.
    Lie,
}

/// An effect on some operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    operations: Vec<Operation>,
    path: String,
    effect: Effect,
}

impl Rule {
    /// What is below the mount point at `path`, where `*` stands for anything, also for `/`.
    pub fn new(operations: &[Operation], path: &str, effect: Effect) -> Rule {
        Rule { operations: operations.to_vec(), path: path.into(), effect }
    }

    /// What it does to `operation` on `path`, if it concerns it.
    pub(crate) fn effect(&self, operation: Operation, path: &Path) -> Option<Effect> {
        let concerns = self.operations.contains(&operation) && matches(&self.path, path);
        concerns.then_some(self.effect)
    }
}

/// Whether `path` is what `pattern` says, where `*` stands for anything.
pub(crate) fn matches(pattern: &str, path: &Path) -> bool {
    let path = path.to_string_lossy();
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, path, is_match) in [
            ("a/b", "a/b", true),
            ("a/b", "a/bc", false),
            ("*", "", true),
            ("*", "a/b", true),
            ("a/*", "a/b/c", true),
            ("a/*", "b/a/c", false),
            ("*.seg", "target-000/segments/0000000001.seg", true),
            ("*.seg", "target-000/segments/target.toml", false),
            ("target-00*/seg*.seg", "target-004/segments/1.seg", true),
            ("ab*ba", "aba", false),
            ("*a*b*", "xbxa", false),
        ] {
            assert_eq!(matches(pattern, Path::new(path)), is_match, "{pattern} {path}");
        }
    }

    #[test]
    fn a_rule_concerns_its_operations_on_its_path() {
        let rule = Rule::new(&[Operation::Read], "a/*", Effect::Fail(Error::Io));
        assert_eq!(rule.effect(Operation::Read, Path::new("a/b")), Some(Effect::Fail(Error::Io)));
        assert_eq!(rule.effect(Operation::Write, Path::new("a/b")), None);
        assert_eq!(rule.effect(Operation::Read, Path::new("b")), None);
    }
}
