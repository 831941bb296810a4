//! From what a cluster file said to a plan.

use slotcast_lab::InputError;
use slotcast_lab::setting::{Field, Value};
use slotcast_lab::toml_value::Result;
use slotcast_sim::{Mix, ProtocolKind, Run};
use slotcast_units::{Rate, Span};

use super::catalogue::DiskKind;
use super::cluster::{
    ChangeRules, Clients, ClusterPlan, Data, DiskModel, Hardware, Part, Prices, Target,
};
use super::keys::{self, LISTS, PlanKey};
use super::read::Stated;

/// Most objects per second, as of `target.objects_per_s`.
const MOST_OBJECTS: u64 = 1_000_000_000;

impl Stated {
    fn given<T: Field>(&self, key: &str) -> Option<T> {
        self.values.get(key).map(|(value, _)| T::from_value(*value))
    }

    /// What was given for `key`, or its default.
    fn or_default<T: Field>(&self, key: &str) -> T {
        self.given(key).unwrap_or_else(|| {
            let PlanKey { kind, default, .. } = keys::find(key).expect("a key of the table");
            let default = default.expect("a key with a default");
            T::from_value(kind.parse(default).expect("a default of its own kind"))
        })
    }

    fn needed<T: Field>(&self, key: &str) -> Result<T> {
        self.given(key).ok_or_else(|| {
            let PlanKey { kind, doc, .. } = keys::find(key).expect("a key of the table");
            self.missing(key, &format!("{doc} Expected {}", kind.expected()))
        })
    }

    fn missing(&self, key: &str, help: &str) -> Box<InputError> {
        let (section, name) = key.split_once('.').expect("section and name");
        InputError::whole(&self.source, format!("`{name}` is missing in [{section}]"))
            .with_help(Some(help.into()))
    }

    /// The word that was given for `key`, or its default.
    fn word(&self, key: &str) -> Option<&'static str> {
        let given = self.values.get(key).map(|(value, _)| *value);
        let known = keys::find(key).expect("a key of the table");
        match given.or_else(|| known.kind.parse(known.default?).ok()) {
            Some(Value::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn plan(&self) -> Result<ClusterPlan> {
        let nodes: u32 = self.needed("nodes.count")?;
        let link: Rate = self.needed("nodes.link")?;
        let kind = self.word("disks.kind");
        let kind = DiskKind::ALL.into_iter().find(|known| Some(known.word()) == kind);
        let kind = kind.ok_or_else(|| {
            self.missing("disks.kind", "Which disks. Expected \"hdd\", \"ssd\" or \"nvme\"")
        })?;
        let (preset, _) = kind.preset();
        let disk = DiskModel {
            rate: self.given("disks.rate").unwrap_or(preset.rate),
            access_time: self.given("disks.access_time").unwrap_or(preset.access_time),
            ..preset
        };
        let data = self.data()?;
        let plan = ClusterPlan {
            name: self.name.clone(),
            title: self.title.clone(),
            hardware: Hardware {
                nodes,
                disks: self.or_default("nodes.disks"),
                disk,
                link,
                replicas: self.or_default("data.replicas"),
            },
            nodes_per_domain: self.nodes_per_domain()?,
            data,
            clients: Clients {
                count: self.given("clients.count").unwrap_or(nodes),
                window: self.given("clients.window"),
            },
            target: self.target(&data)?,
            change: ChangeRules {
                allow: self
                    .allow
                    .clone()
                    .unwrap_or_else(|| vec![Part::Nodes, Part::Disks, Part::Kind, Part::Link]),
                prices: Prices {
                    node: self.or_default("prices.node"),
                    disk: [
                        self.or_default("prices.hdd"),
                        self.or_default("prices.ssd"),
                        self.or_default("prices.nvme"),
                    ],
                    link_per_gbps: self.or_default("prices.link_per_gbps"),
                },
            },
        };
        Ok(plan)
    }

    fn data(&self) -> Result<Data> {
        let Some((sizes, origin)) = &self.sizes else {
            let (key, expected) = LISTS[0];
            return Err(self.missing(key, &format!("Sizes of the objects. Expected {expected}")));
        };
        let problem = |problem: String| origin.error(format!("data.sizes: {problem}"), "here");
        if sizes.is_empty() {
            return Err(problem("expected one size or more".into()));
        }
        let sizes = Mix::new(sizes).map_err(|error| problem(error.to_string()))?;
        let protocol = match self.word("data.protocol") {
            Some("replicast-h") => ProtocolKind::ReplicastH,
            _ => ProtocolKind::ReplicastM,
        };
        Ok(Data {
            sizes,
            reads: self.or_default("data.reads"),
            chunk: self.or_default("data.chunk"),
            protocol,
        })
    }

    fn nodes_per_domain(&self) -> Result<u32> {
        match (self.word("nodes.failure_domain"), self.values.get("nodes.per_rack")) {
            (Some("rack"), Some((value, _))) => Ok(u32::from_value(*value)),
            (Some("rack"), None) => Err(self.missing(
                "nodes.per_rack",
                "How many nodes fail with their rack? For example `per_rack = 4`",
            )),
            (_, Some((_, origin))) => Err(origin
                .error("nodes.per_rack: the failure domain is a node", "has no effect")
                .with_help(Some("set `failure_domain = \"rack\"`, or take this line out".into()))),
            (_, None) => Ok(1),
        }
    }

    fn target(&self, data: &Data) -> Result<Target> {
        let objects: Option<u64> = self.given("target.objects_per_s");
        let rate: Option<Rate> = self.given("target.rate");
        let mean = data.sizes.mean(|size| size.as_bytes() as f64);
        let objects_per_s = match (objects, rate) {
            (Some(objects), None) => objects,
            (None, Some(rate)) => {
                let objects = (rate.as_bps() as f64 / 8.0 / mean).round().max(1.0) as u64;
                if objects > MOST_OBJECTS {
                    let (_, origin) = &self.values["target.rate"];
                    let message = format!("target.rate: {objects} objects of this size per second");
                    return Err(
                        origin.error(message, format!("expected {MOST_OBJECTS} at the most"))
                    );
                }
                objects
            }
            (None, None) => {
                let help = "How much must it do? `objects_per_s = 1000`, or `rate = \"1GB/s\"`";
                return Err(self.missing("target.objects_per_s", help));
            }
            (Some(_), Some(_)) => {
                let (_, origin) = &self.values["target.rate"];
                let message = "target.rate and target.objects_per_s say the same twice";
                return Err(origin.error(message, "expected one of the two"));
            }
        };
        let p99: Span = self.needed("target.p99")?;
        Ok(Target {
            objects_per_s,
            p99,
            with_a_node_down: self.or_default("target.with_a_node_down"),
        })
    }

    /// Whether the scenario can be run, with the words of the cluster file if not.
    pub(super) fn check(&self, plan: &ClusterPlan) -> Result<()> {
        let scenario =
            plan.scenario(&plan.hardware, plan.target.objects_per_s, false, Run::default());
        let Err(error) = slotcast_sim::check(&scenario) else { return Ok(()) };
        let key = match error.key {
            "cluster.replicas" | "cluster.group_size" => "data.replicas",
            "cluster.targets" => "nodes.count",
            "cluster.targets_per_domain" => "nodes.per_rack",
            "network.link_rate" | "network.frame" => "nodes.link",
            "workload.chunk_size" => "data.chunk",
            "workload.mix" => "data.sizes",
            other => other,
        };
        let of_sizes =
            self.sizes.as_ref().filter(|_| key == "data.sizes").map(|(_, origin)| origin);
        let origin = of_sizes.or_else(|| self.values.get(key).map(|(_, origin)| origin));
        let message = format!("{key}: {}", error.problem);
        Err(match origin {
            Some(origin) => origin.error(message, "does not fit the rest"),
            None => InputError::whole(&self.source, message),
        })
    }
}
