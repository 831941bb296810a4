//! The help of the program: commands by what one wants to do.

use clap::Command;

/// What one wants to do, with the commands for it.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Store",
        &[
            "serve", "mb", "ls", "cp", "mv", "cat", "rm", "undelete", "versions", "tag", "stat",
            "du", "rb", "put", "get",
        ],
    ),
    (
        "Cluster",
        &["status", "top", "job", "gc", "user", "cluster", "target", "key", "bench", "doctor"],
    ),
    ("Simulate", &["plan", "sim", "sweep", "tune", "compare", "explain"]),
    ("Check", &["reproduce", "parity", "fuzz", "drill"]),
    ("Help", &["help", "man", "completions"]),
];

const EXAMPLES: &str = "\
Examples:
  slotcast serve                               a whole cluster in this process
  slotcast mb slot://photos                    a bucket in it
  slotcast cp -r holiday slot://photos/2026    and a folder into that
  slotcast plan small                          does this cluster hold, and what is its limit
  slotcast reproduce                           repeat every published figure
  slotcast sim experiments/first.toml          run one experiment
  slotcast compare a.json b.json               two results of sim --json, metric by metric
  slotcast sweep experiments/open-loop.toml    every point of a sweep; goes on where it was stopped
  slotcast tune experiments/tune/busy.toml     the settings that make a metric best, within limits
  slotcast sim --list                          everything that an experiment can set
  slotcast explain disk.rate                   one of those in full
  slotcast parity experiments/parity.toml      the simulator and real disks, side by side
  slotcast fuzz --seeds 2000                   faults, simulated on the code that runs in production
  slotcast drill cp-rmnode                     a job on real processes, while a node is lost

Exit status:
  0  all is well
  1  a claim that must hold does not, or two runs that must be equal differ
  2  the input is wrong and nothing has run, or the output cannot be written
  3  a node has found a fault in itself and cannot go on: start it again
  130  a sweep or a search was stopped by Ctrl-C; what is finished is kept";

/// The command with its subcommands in groups.
pub(crate) fn grouped(mut command: Command) -> Command {
    command.build();
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &format!("{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let about = about.split([':', ';']).next().unwrap_or_default();
            text += &format!("  {name:<10} {about}\n");
        }
        text += "\n";
    }
    command.after_help(text + EXAMPLES)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::{GROUPS, grouped};

    #[test]
    fn each_command_is_in_one_group() {
        let mut command = grouped(crate::Cli::command());
        let there: BTreeSet<String> =
            command.get_subcommands().map(|of| of.get_name().to_owned()).collect();
        let listed: Vec<String> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().map(ToString::to_string)).collect();
        assert_eq!(listed.len(), there.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), there);
        let text = command.render_help().to_string();
        for (group, _) in GROUPS {
            assert!(text.contains(&format!("\n{group}:\n")), "{text}");
        }
    }
}
