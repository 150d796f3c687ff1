// The page of a node: where the groups are and who leads them, for people; and /metrics, for programs.

package main

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// counts are what the lane of a group has done since the node has begun.
type counts struct {
	// Parts that write, and entries that were made of them.
	writes, entries atomic.Int64
	// Parts that read, those of them that a lease answered, and rounds in which others were asked for the rest.
	reads, leased, rounds atomic.Int64
	// How often this node has asked that a replica leads.
	leads atomic.Int64
}

// servePage serves the page at an address.
func (h *host) servePage(address string) error {
	if !isLoopback(address) && h.settings.Password == "" {
		return fmt.Errorf("%s can be reached by others: set a password", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	pages := http.NewServeMux()
	pages.HandleFunc("GET /{$}", func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = mapPage.Execute(to, h.groupRows())
	})
	pages.HandleFunc("GET /metrics", func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(to, h.metrics())
	})
	open := http.NewServeMux()
	open.Handle("/", h.guard(pages))
	h.serveHealth(open)
	server := &http.Server{Handler: open, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-h.context.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.fail(err)
		}
	}()
	return nil
}

// guard asks for the password of the nodes, if there is one, or for a user that may use INFO and its password.
func (h *host) guard(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, from *http.Request) {
		if h.settings.Password != "" && !h.maySeePages(from) {
			to.Header().Set("WWW-Authenticate", `Basic realm="holm-cluster"`)
			http.Error(to, "the password of the nodes is needed, or a user", http.StatusUnauthorized)
			return
		}
		pages.ServeHTTP(to, from)
	})
}

// maySeePages returns whether a request has the password of the nodes, or that of a user that may use INFO.
func (h *host) maySeePages(from *http.Request) bool {
	name, given, isGiven := from.BasicAuth()
	asking := h.signIn(nodeUser, given)
	if asking == nil {
		asking = h.accounts.signIn(name, given)
	}
	client := func() string { return "addr=" + from.RemoteAddr + " cmd=http" }
	if asking == nil {
		if isGiven {
			h.denied.add(nil, appendRequest(nil, "HTTP"), false, name, client())
		}
		return false
	}
	return h.refused(asking, appendRequest(nil, "INFO"), false, client) == nil
}

// groupRow is a group, as the page shows it.
type groupRow struct {
	Name, Leader, Replicas, Slots, Moves string
	Keys                                 string
}

// pageContent is what the page shows.
type pageContent struct {
	Cluster string
	ID      uint64
	Nodes   []placed
	Groups  []groupRow
}

func (h *host) groupRows() pageContent {
	now := h.placement.Load()
	shown := pageContent{Cluster: h.settings.Cluster, ID: h.settings.ID, Nodes: now.Nodes}
	for number := range now.Groups {
		g := &now.Groups[number]
		row := groupRow{Name: fmt.Sprint(number), Leader: "nobody"}
		if number == now.metaGroup() {
			row.Name = "meta"
		}
		if leader, known := h.leader(number); known {
			row.Leader = fmt.Sprint(leader.ID)
		}
		var replicas, slots []string
		for _, one := range g.Replicas {
			replicas = append(replicas, one.describe(number, nil, 0))
		}
		for _, one := range now.rangesOf(number) {
			slots = append(slots, fmt.Sprintf("%d-%d", one[0], one[1]))
		}
		row.Replicas, row.Slots = strings.Join(replicas, ", "), strings.Join(slots, ", ")
		for _, one := range now.Moves {
			if one.From == number {
				row.Moves = fmt.Sprintf("%v go to group %d", one.Ranges, one.To)
			}
		}
		if opened := h.machines.find(shard(number)); opened != nil {
			if _, _, keys, err := opened.status(); err == nil {
				row.Keys = fmt.Sprint(keys)
			}
		}
		shown.Groups = append(shown.Groups, row)
	}
	return shown
}

var mapPage = template.Must(template.New("map").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.Cluster}}</title>
<style>body{font:15px sans-serif;margin:2em}td,th{padding:.2em 1em .2em 0;text-align:left}</style>
<h1>Cluster {{.Cluster}}, seen by node {{.ID}}</h1>
<table><tr><th>node<th>address<th>state</tr>
{{range .Nodes}}<tr><td>{{.ID}}<td>{{.Address}}<td>{{.State}}</tr>
{{end}}</table>
<table><tr><th>group<th>leader<th>replicas on nodes<th>keys here<th>slots<th>moves</tr>
{{range .Groups}}<tr><td>{{.Name}}<td>{{.Leader}}<td>{{.Replicas}}<td>{{.Keys}}<td>{{.Slots}}<td>{{.Moves}}</tr>
{{end}}</table>
</html>
`))
