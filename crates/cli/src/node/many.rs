//! Many requests at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use slotcast_lab::InputError;

use super::client::{Client, NodeOption};
use crate::failure::Failure;

/// How many requests are under way.
#[derive(Debug, Args)]
pub(crate) struct AtATime {
    /// How many are under way at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    at_a_time: u8,
}

impl AtATime {
    /// Does `work` with each of `items`, some at a time, each thread with a connection of its own. Nothing more is begun
    /// after the first failure, which is what comes of it.
    pub(super) fn each<T: Send>(
        &self,
        node: &NodeOption,
        items: impl Iterator<Item = Result<T, Failure>> + Send,
        work: impl Fn(&Client, T) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let (items, is_over) = (Mutex::new(items), AtomicBool::new(false));
        let one = || {
            let client = Client::new(node)?;
            while !is_over.load(Ordering::Relaxed) {
                let next = items.lock().map_err(|_| panicked())?.next();
                let Some(item) = next else { break };
                let done = item.and_then(|item| work(&client, item));
                done.inspect_err(|_| is_over.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.at_a_time).map(|_| scope.spawn(one)).collect();
            // All end before the first failure is told.
            let ended: Vec<_> = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| Err(panicked())))
                .collect();
            ended.into_iter().collect()
        })
    }
}

fn panicked() -> Failure {
    InputError::plain("a thread panicked".to_owned()).into()
}
