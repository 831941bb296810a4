//! Who may send how much, and when: [`TokenBucket`] holds whoever takes tokens from it to a rate.
//!
//! Pure as the protocol is: time is a parameter, equal inputs give equal outputs. The request schedulers of
//! Lustre are a study of their own (`studies/lustre/schedulers`).
#![no_std]

mod bucket;

pub use bucket::TokenBucket;
