// Metrics in the format of Prometheus: what this node has done, by group.

package main

import (
	"fmt"
	"strings"
)

// metric is a family of samples, one for each group that has a replica here.
type metric struct {
	name, kind, help string
	value            func(*sampled) float64
}

// sampled is a replica as it is when metrics are asked for.
type sampled struct {
	lane                *lane
	group               *group
	leads               bool
	term, applied, keys uint64
}

var groupMetrics = []metric{
	{"leads", "gauge", "1 if this node leads the group", func(s *sampled) float64 {
		if s.leads {
			return 1
		}
		return 0
	}},
	{"term", "gauge", "the term of the group's log", func(s *sampled) float64 { return float64(s.term) }},
	{"applied", "gauge", "the last entry that is applied", func(s *sampled) float64 { return float64(s.applied) }},
	{"keys", "gauge", "keys of the group", func(s *sampled) float64 { return float64(s.keys) }},
	{"entries_total", "counter", "entries that this node has proposed for clients",
		func(s *sampled) float64 { return float64(s.lane.counts.entries.Load()) }},
	{"writes_total", "counter", "parts that write, of which entries are made",
		func(s *sampled) float64 { return float64(s.lane.counts.writes.Load()) }},
	{"read_rounds_total", "counter", "rounds in which the leader was asked for reads",
		func(s *sampled) float64 { return float64(s.lane.counts.rounds.Load()) }},
	{"reads_total", "counter", "parts that read, of which rounds are made",
		func(s *sampled) float64 { return float64(s.lane.counts.reads.Load()) }},
	{"leased_reads_total", "counter", "parts of those that were answered by a lease",
		func(s *sampled) float64 { return float64(s.lane.counts.leased.Load()) }},
	{"lead_requests_total", "counter", "requests of this node that another replica leads, those without success too",
		func(s *sampled) float64 { return float64(s.lane.counts.leads.Load()) }},
	{"applied_total", "counter", "entries that were applied here",
		func(s *sampled) float64 { return float64(s.group.applied.Load()) }},
	{"applies_total", "counter", "transactions in which they were applied",
		func(s *sampled) float64 { return float64(s.group.applies.Load()) }},
	{"apply_seconds_total", "counter", "the time that this took",
		func(s *sampled) float64 { return float64(s.group.applyNanoseconds.Load()) / 1e9 }},
}

// metrics returns all samples.
func (h *host) metrics() string {
	samples := map[int]*sampled{}
	for number := range h.lanes {
		own, opened := h.lane(number), h.machines.find(shard(number))
		if own == nil || opened == nil {
			continue
		}
		one := &sampled{lane: own, group: opened, leads: h.leads(number)}
		_, one.term, _, _ = h.raft.GetLeaderID(shard(number))
		one.applied, _, one.keys, _ = opened.status()
		samples[number] = one
	}
	var out strings.Builder
	for _, each := range groupMetrics {
		fmt.Fprintf(&out, "# HELP holm_group_%s %s\n# TYPE holm_group_%s %s\n", each.name, each.help, each.name, each.kind)
		for number := range h.lanes {
			if one := samples[number]; one != nil {
				name := fmt.Sprint(number)
				if number == h.settings.Groups {
					name = "meta"
				}
				fmt.Fprintf(&out, "holm_group_%s{group=%q} %v\n", each.name, name, each.value(one))
			}
		}
	}
	if found, err := h.machines.database.statistics(); err == nil {
		for _, each := range []struct {
			name, help string
			value      float64
		}{
			{"records", "records of all groups", float64(found.records)},
			{"disk_bytes", "bytes of the database's files", float64(found.disk_bytes)},
			{"log_bytes", "bytes of the database's log", float64(found.log_bytes)},
			{"longest_sync_seconds", "the longest sync of the database", float64(found.longest_sync_ns) / 1e9},
			{"views", "views of groups that are open", float64(found.snapshots)},
		} {
			fmt.Fprintf(&out, "# HELP holm_%s %s\n# TYPE holm_%s gauge\nholm_%s %v\n", each.name, each.help, each.name,
				each.name, each.value)
		}
	}
	fmt.Fprintf(&out, "# HELP holm_level the level of entries that the cluster has\n# TYPE holm_level gauge\n"+
		"holm_level %d\n", h.placement.Load().current())
	fmt.Fprintf(&out, "# HELP holm_commands_total commands of clients that were carried out, those of EXEC each\n"+
		"# TYPE holm_commands_total counter\nholm_commands_total %d\n", h.commands.Load())
	full := 0
	if h.isFull.Load() {
		full = 1
	}
	fmt.Fprintf(&out, "# HELP holm_disk_full 1 while writes are refused for the disk\n# TYPE holm_disk_full gauge\n"+
		"holm_disk_full %d\n", full)
	return out.String()
}
