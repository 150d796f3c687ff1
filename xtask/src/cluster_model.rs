//! `cluster-model`: what a cluster of many machines does, on paper, from what was measured on one.
//!
//! The inputs are costs of a request over all of its replicas, as `cluster-bench` prints them, and what a machine has.
//! Load is even over groups, and groups over machines as far as their number allows. Not in the model: waiting in
//! queues, hot keys, and machines that fail.

use anyhow::{Result, ensure};

/// Costs and machines. The defaults are measured: docs/cluster.md says where.
#[derive(clap::Args)]
pub(crate) struct ClusterModel {
    /// Numbers of machines.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 9, 99])]
    machines: Vec<u32>,
    /// Numbers of groups.
    #[arg(long, value_delimiter = ',', default_values_t = [16, 256])]
    groups: Vec<u32>,
    /// Processors of a machine.
    #[arg(long, default_value_t = 8.0)]
    processors: f64,
    /// Megabytes per second that a machine's disk takes.
    #[arg(long, default_value_t = 500.0)]
    disk_mb: f64,
    /// Megabytes per second that a machine's network takes, in each direction.
    #[arg(long, default_value_t = 1250.0)]
    network_mb: f64,
    /// Gigabytes of memory for replicas, without their keys.
    #[arg(long, default_value_t = 4.0)]
    memory_gb: f64,
    /// Microseconds of processors for a write, all replicas together.
    #[arg(long, default_value_t = 188.0)]
    write_us: f64,
    /// The same for a linearizable read.
    #[arg(long, default_value_t = 77.0)]
    read_us: f64,
    /// Bytes to disks for a write, all replicas together.
    #[arg(long, default_value_t = 4419.0)]
    write_disk: f64,
    /// Bytes over the network for a write: of the client, and between replicas.
    #[arg(long, default_value_t = 1318.0)]
    write_network: f64,
    /// The same for a read.
    #[arg(long, default_value_t = 859.0)]
    read_network: f64,
    /// Microseconds that a write and its sync take a disk.
    #[arg(long, default_value_t = 120.0)]
    sync_us: f64,
    /// Microseconds to another machine and back.
    #[arg(long, default_value_t = 100.0)]
    round_trip_us: f64,
    /// Microseconds of processors in a second for a replica that has nothing to do.
    #[arg(long, default_value_t = 72.0)]
    idle_us: f64,
    /// Megabytes of memory for a replica, without its keys.
    #[arg(long, default_value_t = 0.23)]
    replica_mb: f64,
    /// The share of a machine's processors that replicas may take with nothing to do.
    #[arg(long, default_value_t = 0.05)]
    idle_share: f64,
}

const REPLICAS: f64 = 3.0;

/// A resource, and how many requests per second of a kind the cluster has it for.
type Limit = (&'static str, f64);

impl ClusterModel {
    /// How many machines' worth of a resource counts: the machine with the most replicas is full first.
    fn machines_at_work(machines: u32, groups: u32) -> f64 {
        let replicas = REPLICAS * f64::from(groups);
        let most = (replicas / f64::from(machines)).ceil();
        replicas / most
    }

    /// Microseconds of processors that a machine has in a second, after what its replicas take with nothing to do.
    fn processor_us(&self, machines: u32, groups: u32) -> f64 {
        let most = (REPLICAS * f64::from(groups) / f64::from(machines)).ceil();
        (1e6 * self.processors - most * self.idle_us).max(0.0)
    }

    /// The limits of writes, or of reads, the tightest first.
    fn limits(&self, machines: u32, groups: u32, is_write: bool) -> Vec<Limit> {
        let at_work = Self::machines_at_work(machines, groups);
        let (processor, network) =
            if is_write { (self.write_us, self.write_network) } else { (self.read_us, self.read_network) };
        let mut limits = vec![
            ("processors", at_work * self.processor_us(machines, groups) / processor),
            ("network", at_work * 1e6 * self.network_mb / network),
        ];
        if is_write {
            limits.push(("disks", at_work * 1e6 * self.disk_mb / self.write_disk));
        }
        limits.sort_by(|one, other| one.1.total_cmp(&other.1));
        limits
    }

    /// How many replicas a machine carries, and what limits them.
    fn most_replicas(&self) -> Limit {
        let idle = ("processors", self.idle_share * 1e6 * self.processors / self.idle_us);
        let memory = ("memory", 1e3 * self.memory_gb / self.replica_mb);
        if idle.1 < memory.1 { idle } else { memory }
    }

    /// Microseconds of a write with nothing else under way: the leader sends the entry before it syncs it.
    fn least_write_us(&self) -> f64 {
        self.round_trip_us + self.sync_us
    }

    fn check(&self) -> Result<()> {
        let positive = [
            self.processors,
            self.disk_mb,
            self.network_mb,
            self.memory_gb,
            self.write_us,
            self.read_us,
            self.write_disk,
            self.write_network,
            self.read_network,
            self.sync_us,
            self.round_trip_us,
            self.idle_us,
            self.replica_mb,
            self.idle_share,
        ];
        ensure!(positive.iter().all(|one| *one > 0.0), "each cost and each size is more than 0");
        ensure!(self.machines.iter().all(|one| *one >= 3), "a group has three replicas, on as many machines");
        ensure!(self.groups.iter().all(|one| (1..=256).contains(one)), "a cluster has 1 to 256 groups");
        Ok(())
    }
}

/// Prints the tables.
pub(crate) fn run(settings: &ClusterModel) -> Result<()> {
    settings.check()?;
    println!("| machines | groups | replicas of a machine, at most | writes/s | limit, then | reads/s | limit, then |");
    println!("|---|---|---|---|---|---|---|");
    for &machines in &settings.machines {
        for &groups in &settings.groups {
            let replicas = (REPLICAS * f64::from(groups) / f64::from(machines)).ceil();
            let columns = [true, false].map(|is_write| {
                let limits = settings.limits(machines, groups, is_write);
                let next = limits[1];
                format!("{:.0},000 | {}, {} at {:.0},000", limits[0].1 / 1e3, limits[0].0, next.0, next.1 / 1e3)
            });
            println!("| {machines} | {groups} | {replicas} | {} |", columns.join(" | "));
        }
    }
    let (what, count) = settings.most_replicas();
    println!("\na machine carries {count:.0} replicas; {what} limit them");
    println!("a write takes at least {:.0} us: a round trip and a sync", settings.least_write_us());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        settings: ClusterModel,
    }

    fn of(words: &[&str]) -> ClusterModel {
        <Alone as clap::Parser>::parse_from(["cluster-model"].iter().chain(words)).settings
    }

    #[test]
    fn as_many_machines_work_as_groups_have_replicas_for() {
        assert_eq!(ClusterModel::machines_at_work(3, 16), 3.0);
        // 48 replicas on 9 machines: some have 6 of them, the others 5.
        assert_eq!(ClusterModel::machines_at_work(9, 16), 8.0);
        assert_eq!(ClusterModel::machines_at_work(99, 16), 48.0);
    }

    #[test]
    fn what_has_least_limits_first() {
        let processors = of(&["--processors", "2", "--write-us", "100", "--idle-us", "1e-9"]);
        let (name, rate) = processors.limits(3, 1, true)[0];
        assert_eq!((name, rate.round()), ("processors", 60_000.0));
        let disks = of(&["--write-us", "1", "--disk-mb", "1", "--write-disk", "1000"]);
        assert_eq!(disks.limits(3, 1, true)[0], ("disks", 3_000.0));
        let network = of(&["--read-us", "1", "--network-mb", "1", "--read-network", "500"]);
        assert_eq!(network.limits(3, 1, false)[0], ("network", 6_000.0));
    }

    #[test]
    fn replicas_with_nothing_to_do_take_processors_from_requests() {
        let model = of(&["--processors", "1", "--idle-us", "1000", "--write-us", "1", "--write-disk", "1"]);
        // 768 replicas on 3 machines, 256 each: 744 ms of each second are left.
        let (name, rate) = model.limits(3, 256, true)[0];
        assert_eq!((name, rate.round()), ("processors", 3.0 * 744_000.0));
        let (name, count) = model.most_replicas();
        assert_eq!((name, count.round()), ("processors", 50.0));
        assert_eq!(of(&["--memory-gb", "1", "--replica-mb", "100"]).most_replicas(), ("memory", 10.0));
    }

    #[test]
    fn machines_without_replicas_and_costs_of_nothing_are_refused() {
        assert!(of(&["--machines", "2"]).check().is_err());
        assert!(of(&["--read-us", "0"]).check().is_err());
        assert!(of(&["--groups", "257"]).check().is_err());
        assert!(of(&[]).check().is_ok());
    }
}
