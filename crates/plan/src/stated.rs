//! From what a cluster file sets to a plan.

use slotcast_sim::{Mix, ProtocolKind, Run, ScenarioError};
use slotcast_units::{Rate, Share, Size, Span};

use super::catalogue::DiskKind;
use super::cluster::{
    ChangeRules, Clients, ClusterPlan, Data, DiskModel, Hardware, Part, Prices, Target,
};
use super::keys::PLAN;

/// Most objects per second, as of `target.objects_per_s`.
const MAX_OBJECTS: u64 = 1_000_000_000;

/// What fails together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureDomain {
    Node,
    Rack,
}

/// What a cluster file sets. What it must say, and what otherwise follows from the rest, is none.
#[derive(Debug, Clone)]
pub(super) struct Stated {
    pub(super) nodes: Option<u32>,
    pub(super) disks: u32,
    pub(super) link: Option<Rate>,
    pub(super) failure_domain: FailureDomain,
    pub(super) per_rack: Option<u32>,
    pub(super) disk_kind: Option<DiskKind>,
    pub(super) disk_rate: Option<Rate>,
    pub(super) access_time: Option<Span>,
    pub(super) replicas: u32,
    pub(super) reads: Share,
    pub(super) chunk: Size,
    pub(super) sizes: Option<Mix>,
    pub(super) protocol: ProtocolKind,
    pub(super) clients: Option<u32>,
    pub(super) window: Option<u32>,
    pub(super) objects_per_s: Option<u64>,
    pub(super) rate: Option<Rate>,
    pub(super) p99: Option<Span>,
    pub(super) with_a_node_down: bool,
    pub(super) allow: Vec<Part>,
    pub(super) price_node: u64,
    pub(super) price_hdd: u64,
    pub(super) price_ssd: u64,
    pub(super) price_nvme: u64,
    pub(super) price_link_per_gbps: u64,
}

impl Default for Stated {
    fn default() -> Stated {
        Stated {
            nodes: None,
            disks: 1,
            link: None,
            failure_domain: FailureDomain::Node,
            per_rack: None,
            disk_kind: None,
            disk_rate: None,
            access_time: None,
            replicas: 3,
            reads: Share::ZERO,
            chunk: Size::from_mib(1),
            sizes: None,
            protocol: ProtocolKind::ReplicastM,
            clients: None,
            window: None,
            objects_per_s: None,
            rate: None,
            p99: None,
            with_a_node_down: false,
            allow: vec![Part::Nodes, Part::Disks, Part::Kind, Part::Link],
            price_node: 4000,
            price_hdd: 300,
            price_ssd: 400,
            price_nvme: 600,
            price_link_per_gbps: 10,
        }
    }
}

fn wrong(key: &'static str, problem: impl Into<String>) -> ScenarioError {
    ScenarioError { key, problem: problem.into() }
}

/// The error for `key`, which must be given.
fn missing(key: &'static str) -> ScenarioError {
    let setting = PLAN.find(key).expect("a key of the schema");
    let expected = setting.kind.expected();
    let (section, name) = (setting.section(), setting.name());
    wrong(key, format!("`{name}` is missing in [{section}]; expected {expected}"))
}

impl Stated {
    /// What is planned.
    ///
    /// # Errors
    /// If something is missing, or does not fit the rest.
    pub(super) fn plan(&self) -> Result<ClusterPlan, ScenarioError> {
        let nodes = self.nodes.ok_or_else(|| missing("nodes.count"))?;
        let (preset, _) = self.disk_kind.ok_or_else(|| missing("disks.kind"))?.preset();
        let data = self.data()?;
        let plan = ClusterPlan {
            name: String::new(),
            title: None,
            hardware: Hardware {
                nodes,
                disks: self.disks,
                disk: DiskModel {
                    rate: self.disk_rate.unwrap_or(preset.rate),
                    access_time: self.access_time.unwrap_or(preset.access_time),
                    ..preset
                },
                link: self.link.ok_or_else(|| missing("nodes.link"))?,
                replicas: self.replicas,
            },
            nodes_per_domain: self.nodes_per_domain()?,
            data,
            clients: Clients { count: self.clients.unwrap_or(nodes), window: self.window },
            target: self.target(&data)?,
            change: ChangeRules {
                allow: self.allow.clone(),
                prices: Prices {
                    node: self.price_node,
                    disk: [self.price_hdd, self.price_ssd, self.price_nvme],
                    link_per_gbps: self.price_link_per_gbps,
                },
            },
        };
        check(&plan)?;
        Ok(plan)
    }

    fn data(&self) -> Result<Data, ScenarioError> {
        let sizes = self.sizes.ok_or_else(|| missing("data.sizes"))?;
        if sizes.is_none() {
            return Err(wrong("data.sizes", "expected one size or more"));
        }
        Ok(Data { sizes, reads: self.reads, chunk: self.chunk, protocol: self.protocol })
    }

    fn nodes_per_domain(&self) -> Result<u32, ScenarioError> {
        match (self.failure_domain, self.per_rack) {
            (FailureDomain::Rack, Some(nodes)) => Ok(nodes),
            (FailureDomain::Rack, None) => Err(missing("nodes.per_rack")),
            (FailureDomain::Node, Some(_)) => Err(wrong(
                "nodes.per_rack",
                "the failure domain is a node; set `failure_domain = \"rack\"`, or take this out",
            )),
            (FailureDomain::Node, None) => Ok(1),
        }
    }

    fn target(&self, data: &Data) -> Result<Target, ScenarioError> {
        let mean = data.sizes.mean(|size| size.as_bytes() as f64);
        let objects_per_s = match (self.objects_per_s, self.rate) {
            (Some(objects), None) => objects,
            (None, Some(rate)) => {
                let objects = (rate.as_bps() as f64 / 8.0 / mean).round().max(1.0) as u64;
                if objects > MAX_OBJECTS {
                    let problem = format!(
                        "{objects} objects of this size per second; expected {MAX_OBJECTS} at the most"
                    );
                    return Err(wrong("target.rate", problem));
                }
                objects
            }
            (None, None) => {
                let ScenarioError { key, problem } = missing("target.objects_per_s");
                return Err(wrong(key, format!("{problem}, or `rate = \"1GB/s\"`")));
            }
            (Some(_), Some(_)) => {
                let problem =
                    "this and target.objects_per_s say the same twice; expected one of the two";
                return Err(wrong("target.rate", problem));
            }
        };
        let p99 = self.p99.ok_or_else(|| missing("target.p99"))?;
        Ok(Target { objects_per_s, p99, with_a_node_down: self.with_a_node_down })
    }
}

/// Whether the scenario can be run, with the words of the cluster file if not.
fn check(plan: &ClusterPlan) -> Result<(), ScenarioError> {
    let scenario = plan.scenario(&plan.hardware, plan.target.objects_per_s, false, Run::default());
    slotcast_sim::check(&scenario).map_err(|error| {
        let key = match error.key {
            "cluster.replicas" | "cluster.group_size" => "data.replicas",
            "cluster.targets" => "nodes.count",
            "cluster.targets_per_domain" => "nodes.per_rack",
            "network.link_rate" | "network.frame" => "nodes.link",
            "workload.chunk_size" => "data.chunk",
            "workload.mix" => "data.sizes",
            other => other,
        };
        ScenarioError { key, ..error }
    })
}
