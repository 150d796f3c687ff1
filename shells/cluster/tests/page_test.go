package tests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"holm-cluster/trial"
)

func TestThePageAndTheMetricsShowTheGroups(t *testing.T) {
	ports, err := trial.FreePorts(1)
	must(t, err)
	address := ports[0]
	// One node: all nodes of a trial get the same words.
	settings := trial.Settings{Nodes: 1, IsSecret: true, Serve: []string{"--page", address}}
	cluster, ctx := start(t, settings), context.Background()
	node := cluster.Node(0)
	defer node.Close()
	for at := range 100 {
		insist(t, func() error { return node.Set(ctx, fmt.Sprint("key", at), at, 0).Err() })
	}
	ask := func(path, name, password string) (int, string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
		must(t, err)
		request.SetBasicAuth(name, password)
		answer, err := http.DefaultClient.Do(request)
		must(t, err)
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, string(said)
	}
	if code, said := ask("/metrics", "default", "wrong"); code != http.StatusUnauthorized || strings.Contains(said, "holm_") {
		t.Fatal("metrics without the password:", code, said)
	}
	answers(t, node, "OK", "ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "-info")
	code, _ := ask("/metrics", "app", "word")
	same(t, "metrics without INFO", code, http.StatusUnauthorized)
	same(t, "ACL LOG", fmt.Sprint(logged(t, node)), "[1 auth toplevel HTTP default 1 command toplevel info app]")
	must(t, trial.Until(60*time.Second, func() error {
		_, said := ask("/metrics", "default", "trial")
		keys := 0
		for _, found := range regexp.MustCompile(`holm_group_keys\{group="\d"\} (\d+)`).FindAllStringSubmatch(said, -1) {
			var count int
			if _, err := fmt.Sscan(found[1], &count); err != nil {
				return err
			}
			keys += count
		}
		writes := regexp.MustCompile(`holm_group_writes_total\{group="0"\} [1-9]`).MatchString(said)
		if keys != 100 || !writes || !strings.Contains(said, `holm_group_leads{group="meta"} 1`) {
			return fmt.Errorf("%d keys in %s", keys, said)
		}
		return nil
	}))
	code, said := ask("/", "default", "trial")
	same(t, "the page", code, http.StatusOK)
	for _, part := range []string{"<td>0<td>1<td>1<td>", "0-4095", "<td>meta<td>1"} {
		if !strings.Contains(said, part) {
			t.Fatalf("%q is not on the page: %s", part, said)
		}
	}
	for name, expected := range map[string]int{"seer": http.StatusOK, "app": http.StatusUnauthorized} {
		rules := []any{"ACL", "SETUSER", name, "on", ">word", "+@read"}
		if expected == http.StatusOK {
			rules = append(rules, "+info")
		}
		answers(t, node, "OK", rules...)
		code, _ := ask("/metrics", name, "word")
		same(t, name, code, expected)
	}
}
