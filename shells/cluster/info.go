// INFO: the node and its groups as text, in sections.

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// sections are those of INFO in their order, each with what writes it.
var sections = []struct {
	name  string
	write func(*connection, *strings.Builder)
}{
	{"Server", aboutServer}, {"Clients", aboutClients}, {"Cluster", aboutCluster}, {"Store", aboutStore},
	{"Stats", aboutStatistics}, {"Groups", aboutGroups}, {"Keyspace", aboutKeys},
}

func info(c *connection, _ route, given []string) {
	isChosen := func(name string) bool {
		return len(given) == 1 || slices.ContainsFunc(given[1:], func(one string) bool {
			switch strings.ToLower(one) {
			case "all", "default", "everything", strings.ToLower(name):
				return true
			}
			return false
		})
	}
	var out strings.Builder
	for _, section := range sections {
		if isChosen(section.name) {
			if out.Len() > 0 {
				out.WriteString("\r\n")
			}
			out.WriteString("# " + section.name + "\r\n")
			section.write(c, &out)
		}
	}
	c.out = appendBulk(c.out, out.String())
}

func aboutServer(c *connection, out *strings.Builder) {
	_, port := split(c.shown.local)
	fmt.Fprintf(out, "redis_version:%s\r\nredis_mode:%s\r\nserver_name:holm\r\nprocess_id:%d\r\ntcp_port:%d\r\n"+
		"uptime_in_seconds:%d\r\n", compatible, c.mode(), os.Getpid(), port, int(time.Since(c.host.begun).Seconds()))
}

func aboutClients(c *connection, out *strings.Builder) {
	fmt.Fprintf(out, "connected_clients:%d\r\n", c.host.clients.count())
}

func aboutCluster(c *connection, out *strings.Builder) {
	fmt.Fprintf(out, "cluster_enabled:%d\r\n", switched(!c.isPlain))
}

func aboutStore(c *connection, out *strings.Builder) {
	if found, err := c.host.machines.database.statistics(); err == nil {
		fmt.Fprintf(out, "holm_records:%d\r\nholm_disk_bytes:%d\r\nholm_log_bytes:%d\r\n"+
			"holm_longest_sync_us:%d\r\nholm_views:%d\r\n", found.records, found.disk_bytes, found.log_bytes,
			found.longest_sync_ns/1000, found.snapshots)
	}
}

func aboutStatistics(c *connection, out *strings.Builder) {
	fmt.Fprintf(out, "total_commands_processed:%d\r\n", c.host.commands.Load())
}

func aboutGroups(c *connection, out *strings.Builder) {
	h := c.host
	for number := range h.settings.Groups {
		own := h.lane(number)
		if own == nil {
			continue
		}
		leader, _, known, _ := h.raft.GetLeaderID(shard(number))
		if !known {
			leader = 0
		}
		if opened := h.machines.find(shard(number)); opened != nil {
			applied, _, keys, _ := opened.status()
			fmt.Fprintf(out, "group%d:leader=%d,applied=%d,keys=%d,lead_requests=%d,leased_reads=%d\r\n", number,
				leader, applied, keys, own.counts.leads.Load(), own.counts.leased.Load())
		}
	}
}

// aboutKeys counts the keys of the groups that the node leads, as this replica has them.
func aboutKeys(c *connection, out *strings.Builder) {
	sum := uint64(0)
	for number := range c.host.settings.Groups {
		if opened := c.host.machines.find(shard(number)); opened != nil && c.host.leads(number) {
			_, _, keys, _ := opened.status()
			sum += keys
		}
	}
	if sum > 0 {
		fmt.Fprintf(out, "db0:keys=%d,expires=0,avg_ttl=0\r\n", sum)
	}
}
