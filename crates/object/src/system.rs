//! Buckets that no client can name: they are not among the names of the root, and their numbers follow from what they hold.

use crate::key::BucketId;
use crate::upload::derived;

impl BucketId {
    /// The bucket of the users of the cluster. Its names are theirs.
    pub fn users() -> BucketId {
        derived("users", &[])
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
        let all = [BucketId::ROOT, BucketId::users(), BucketId::access_keys()];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
        assert_eq!(BucketId::users(), BucketId::users());
        assert!(all[1] != all[2].uploads() && all[1] != all[0].uploads());
    }
}
