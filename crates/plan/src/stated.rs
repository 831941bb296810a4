//! From what a cluster file sets to a plan.

use slotcast_sim::{Mix, ProtocolKind, Run, ScenarioError};
use slotcast_units::{Rate, Share, Size, Span};

use super::catalogue::DiskKind;
use super::cluster::{
    ChangeRules, Clients, ClusterPlan, Conditions, Data, DiskModel, Hardware, Limits, Part, Power,
    Prices, Target,
};
use super::condition::Condition;
use super::keys::PLAN;

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
    pub(super) disk_capacity: Option<Size>,
    pub(super) bays: Option<u32>,
    pub(super) racks: Option<u32>,
    pub(super) stored: Option<Size>,
    pub(super) growth: Size,
    pub(super) fill: Share,
    pub(super) months: Option<u32>,
    pub(super) replicas: u32,
    pub(super) reads: Option<Share>,
    pub(super) chunk: Size,
    pub(super) sizes: Option<Mix>,
    pub(super) protocol: ProtocolKind,
    pub(super) clients: Option<u32>,
    pub(super) window: Option<u32>,
    pub(super) objects_per_s: Option<u64>,
    pub(super) rate: Option<Rate>,
    pub(super) ingest: Option<Rate>,
    pub(super) ingest_objects_per_s: Option<u64>,
    pub(super) reads_rate: Option<Rate>,
    pub(super) reads_objects_per_s: Option<u64>,
    pub(super) p99: Option<Span>,
    pub(super) put_p99: Option<Span>,
    pub(super) get_p99: Option<Span>,
    pub(super) put_p999: Option<Span>,
    pub(super) get_p999: Option<Span>,
    pub(super) with_a_node_down: bool,
    pub(super) with_two_nodes_down: bool,
    pub(super) with_a_rack_down: bool,
    pub(super) while_rebuilding: bool,
    pub(super) rebuild_share: Share,
    pub(super) allow: Vec<Part>,
    pub(super) price_node: u64,
    pub(super) price_hdd: u64,
    pub(super) price_ssd: u64,
    pub(super) price_nvme: u64,
    pub(super) price_link_per_gbps: u64,
    pub(super) power: StatedPower,
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
            disk_capacity: None,
            bays: None,
            racks: None,
            stored: None,
            growth: Size::ZERO,
            fill: Share::from_percent(90),
            months: None,
            replicas: 3,
            reads: None,
            chunk: Size::from_mib(1),
            sizes: None,
            protocol: ProtocolKind::ReplicastM,
            clients: None,
            window: None,
            objects_per_s: None,
            rate: None,
            ingest: None,
            ingest_objects_per_s: None,
            reads_rate: None,
            reads_objects_per_s: None,
            p99: None,
            put_p99: None,
            get_p99: None,
            put_p999: None,
            get_p999: None,
            with_a_node_down: false,
            with_two_nodes_down: false,
            with_a_rack_down: false,
            while_rebuilding: false,
            rebuild_share: Share::from_percent(20),
            allow: vec![Part::Nodes, Part::Disks, Part::Kind, Part::Link],
            price_node: 4000,
            price_hdd: 300,
            price_ssd: 400,
            price_nvme: 600,
            price_link_per_gbps: 10,
            power: StatedPower::default(),
        }
    }
}

/// Watts that a cluster file sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StatedPower {
    pub(super) node_idle: u64,
    pub(super) node_active: u64,
    pub(super) hdd_idle: u64,
    pub(super) hdd_active: u64,
    pub(super) ssd_idle: u64,
    pub(super) ssd_active: u64,
    pub(super) nvme_idle: u64,
    pub(super) nvme_active: u64,
}

impl Default for StatedPower {
    fn default() -> StatedPower {
        StatedPower {
            node_idle: 150,
            node_active: 300,
            hdd_idle: 5,
            hdd_active: 9,
            ssd_idle: 2,
            ssd_active: 4,
            nvme_idle: 5,
            nvme_active: 12,
        }
    }
}

impl StatedPower {
    fn power(&self) -> Power {
        Power {
            node: [self.node_idle, self.node_active],
            disk: [
                [self.hdd_idle, self.hdd_active],
                [self.ssd_idle, self.ssd_active],
                [self.nvme_idle, self.nvme_active],
            ],
        }
    }
}

pub(super) fn wrong(key: &'static str, problem: impl Into<String>) -> ScenarioError {
    ScenarioError { key, problem: problem.into() }
}

/// The error for `key`, which must be given.
pub(super) fn missing(key: &'static str) -> ScenarioError {
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
                    capacity: self.disk_capacity.unwrap_or(preset.capacity),
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
                bays: self.bays,
                max_nodes: self.max_nodes()?,
            },
            power: self.power.power(),
            guesses: self.guesses(),
        };
        check(&plan)?;
        Ok(plan)
    }

    fn data(&self) -> Result<Data, ScenarioError> {
        let sizes = self.sizes.ok_or_else(|| missing("data.sizes"))?;
        if sizes.is_none() {
            return Err(wrong("data.sizes", "expected one size or more"));
        }
        let load = self.load(sizes.mean(|size| size.as_bytes() as f64))?;
        if self.stored.is_none() {
            let needs = [
                ("data.growth", self.growth > Size::ZERO),
                ("target.months", self.months.is_some()),
            ];
            if let Some((key, _)) = needs.into_iter().find(|(_, is_said)| *is_said) {
                return Err(wrong(key, "says nothing without data.stored"));
            }
        }
        Ok(Data {
            sizes,
            reads: load.reads,
            chunk: self.chunk,
            protocol: self.protocol,
            stored: self.stored,
            growth: self.growth,
            fill: self.fill,
        })
    }

    /// What is not stated, and is a rough guess.
    fn guesses(&self) -> Vec<&'static str> {
        let ours = Stated::default();
        let prices = |of: &Stated| {
            [of.price_node, of.price_hdd, of.price_ssd, of.price_nvme, of.price_link_per_gbps]
        };
        [
            (self.disk_capacity.is_none(), "what a disk holds"),
            (prices(self).iter().zip(prices(&ours)).any(|(own, our)| *own == our), "prices"),
            (self.power == ours.power, "watts"),
        ]
        .into_iter()
        .filter_map(|(is_guess, what)| is_guess.then_some(what))
        .collect()
    }

    /// Nodes that the racks have room for.
    fn max_nodes(&self) -> Result<Option<u32>, ScenarioError> {
        let Some(racks) = self.racks else { return Ok(None) };
        let of_each = self.per_rack.ok_or_else(|| missing("nodes.per_rack"))?;
        let room = racks.saturating_mul(of_each);
        if self.nodes.is_some_and(|nodes| nodes > room) {
            let problem = format!("{racks} racks of {of_each} have room for {room} nodes");
            return Err(wrong("nodes.racks", problem));
        }
        Ok(Some(room))
    }

    fn nodes_per_domain(&self) -> Result<u32, ScenarioError> {
        match (self.failure_domain, self.per_rack) {
            (FailureDomain::Rack, Some(nodes)) => Ok(nodes),
            (FailureDomain::Rack, None) => Err(missing("nodes.per_rack")),
            (FailureDomain::Node, Some(_)) if self.racks.is_none() => Err(wrong(
                "nodes.per_rack",
                "the failure domain is a node; set `failure_domain = \"rack\"`, say how many \
                 `racks` there are, or take this out",
            )),
            (FailureDomain::Node, _) => Ok(1),
        }
    }

    fn target(&self, data: &Data) -> Result<Target, ScenarioError> {
        let mean = data.sizes.mean(|size| size.as_bytes() as f64);
        let puts = [("target.put_p99", self.put_p99), ("target.put_p999", self.put_p999)];
        let gets = [("target.get_p99", self.get_p99), ("target.get_p999", self.get_p999)];
        Ok(Target {
            objects_per_s: self.load(mean)?.objects_per_s,
            puts: self.limits(puts, data.reads < Share::ONE)?,
            gets: self.limits(gets, data.reads > Share::ZERO)?,
            months: self.months,
            conditions: Conditions {
                node_down: self.with_a_node_down,
                two_nodes_down: self.with_two_nodes_down,
                rack_down: self.with_a_rack_down,
                rebuilding: self.while_rebuilding,
            },
            rebuild_share: self.rebuild_share,
        })
    }

    /// The limits of one kind of requests, which `is_asked` for or not.
    fn limits(
        &self,
        [p99, p999]: [(&'static str, Option<Span>); 2],
        is_asked: bool,
    ) -> Result<Option<Limits>, ScenarioError> {
        if !is_asked {
            return match [p99, p999].into_iter().find(|(_, limit)| limit.is_some()) {
                Some((key, _)) => Err(wrong(key, "there are no such requests; take it out")),
                None => Ok(None),
            };
        }
        let Some(limit) = p99.1.or(self.p99) else {
            let ScenarioError { key, problem } = missing("target.p99");
            return Err(wrong(key, format!("{problem}, or `put_p99` and `get_p99`")));
        };
        match p999 {
            (key, Some(within)) if within < limit => {
                let problem = format!(
                    "999 of 1000 within {within}, and 99 of 100 within {limit} only; expected {limit} at \
                     the least"
                );
                Err(wrong(key, problem))
            }
            (_, p999) => Ok(Some(Limits { p99: limit, p999 })),
        }
    }
}

/// Whether the scenario can be run, with the words of the cluster file if not.
fn check(plan: &ClusterPlan) -> Result<(), ScenarioError> {
    let load = plan.target.objects_per_s;
    let scenario = plan.scenario(&plan.hardware, load, Condition::AllUp, Run::default());
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
    })?;
    if let Some(bays) = plan.change.bays.filter(|&bays| bays < plan.hardware.disks) {
        let problem = format!("{bays} bays have no room for {} disks", plan.hardware.disks);
        return Err(wrong("nodes.bays", problem));
    }
    let conditions = [
        (Condition::NodeDown, "target.with_a_node_down"),
        (Condition::TwoNodesDown, "target.with_two_nodes_down"),
        (Condition::RackDown, "target.with_a_rack_down"),
        (Condition::Rebuilding, "target.while_rebuilding"),
    ];
    let impossible = |condition: Condition| !condition.is_possible(plan, &plan.hardware);
    for (condition, key) in conditions {
        if plan.target.conditions.has(condition) && impossible(condition) {
            let problem = match condition {
                Condition::RackDown if plan.nodes_per_domain == 1 => {
                    "a rack is a failure domain with `failure_domain = \"rack\"` only".to_string()
                }
                _ => format!(
                    "too few of {} nodes are left for {} replicas",
                    plan.hardware.nodes, plan.hardware.replicas
                ),
            };
            return Err(wrong(key, problem));
        }
    }
    Ok(())
}
