//! Buckets that no client can name: they are not among the names of the root, and their numbers follow from what they hold.

use crate::key::BucketId;
use crate::upload::derived;

impl BucketId {
    /// The bucket of the users of the cluster. Its names are theirs.
    pub fn users() -> BucketId {
        derived("users", &[])
    }

    /// The bucket of the jobs of the cluster: what each is to do. Its names are their numbers.
    pub fn jobs() -> BucketId {
        derived("jobs", &[])
    }

    /// The bucket of all that changes of a job, and of its units of work.
    pub fn job(number: u64) -> BucketId {
        derived("job", &[&number.to_be_bytes()])
    }

    /// The bucket of what is announced of changes in this one, and waits to be told.
    pub fn announcements(self) -> BucketId {
        derived("announcements", &[&self.0.to_be_bytes()])
    }

    /// The bucket of the keys of users. Its names are the access keys.
    pub fn access_keys() -> BucketId {
        derived("access keys", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_apart_from_each_other_and_from_the_root() {
        let system = [BucketId::users(), BucketId::access_keys(), BucketId::jobs()];
        let jobs = [BucketId::job(1), BucketId::job(2)];
        let announced = [BucketId(1).announcements(), BucketId(2).announcements()];
        let all = [&[BucketId::ROOT][..], &system, &jobs, &announced].concat();
        let different: alloc::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(BucketId::users(), BucketId::users());
        assert!(all[1] != all[2].uploads() && all[1] != all[0].uploads());
    }
}
