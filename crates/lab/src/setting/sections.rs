//! The sections of a file of the cluster's settings.

/// Each with what it is about, in the order in which they are listed.
pub(super) const SECTIONS: &[(&str, &str)] = &[
    ("cluster", "initiators, targets and how replicas spread over them"),
    ("network", "edge ports around a non-blocking core"),
    ("disk", "the disks of a target"),
    ("protocol", "which protocol moves chunks"),
    ("replicast", "parameters of the Replicast protocols"),
    ("unicast", "parameters of the unicast peers"),
    ("dctcp", "parameters of UCH-DCTCP's connections and of the switch that they share"),
    ("quirks", "behaviour of the original simulator, kept only to repeat its figures"),
    ("workload", "what the initiators do"),
    ("faults", "what goes wrong"),
    ("run", "how long, and in what detail"),
    ("seeds", "replications: every point runs once with each seed"),
    ("statistics", "how the start of a run is dealt with, and when there are seeds enough"),
];
