// Package kubernetes reads the example strictly, as the types of Kubernetes have it, compares what its parts say of each
// other, and runs the script of its pods.
package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// example is what the file has.
type example struct {
	headless, plain core.Service
	budget          policy.PodDisruptionBudget
	config          core.ConfigMap
	set             apps.StatefulSet
}

func load(text []byte) (*example, error) {
	var read example
	targets := []any{&read.headless, &read.plain, &read.budget, &read.config, &read.set}
	documents := bytes.Split(text, []byte("\n---\n"))
	if len(documents) != len(targets) {
		return nil, fmt.Errorf("%d documents, and not %d", len(documents), len(targets))
	}
	kinds := []string{"v1/Service", "v1/Service", "policy/v1/PodDisruptionBudget", "v1/ConfigMap", "apps/v1/StatefulSet"}
	for at, document := range documents {
		if err := yaml.UnmarshalStrict(document, targets[at]); err != nil {
			return nil, fmt.Errorf("document %d: %w", at, err)
		}
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, err
		}
		if found := kind.APIVersion + "/" + kind.Kind; found != kinds[at] {
			return nil, fmt.Errorf("document %d is %s, and not %s", at, found, kinds[at])
		}
	}
	return &read, nil
}

// check returns what does not fit together.
func (e *example) check() error {
	pod := &e.set.Spec.Template
	node, prepare := &pod.Spec.Containers[0], &pod.Spec.InitContainers[0]
	ports := map[string]int32{}
	for _, one := range node.Ports {
		ports[one.Name] = one.ContainerPort
	}
	for _, service := range []*core.Service{&e.headless, &e.plain} {
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			return fmt.Errorf("service %s selects other pods", service.Name)
		}
		for _, one := range service.Spec.Ports {
			if ports[one.Name] != one.Port {
				return fmt.Errorf("port %s of service %s is none of the pod's", one.Name, service.Name)
			}
		}
	}
	for _, selector := range []map[string]string{e.set.Spec.Selector.MatchLabels, e.budget.Spec.Selector.MatchLabels} {
		if !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			return fmt.Errorf("the selector %v has other pods", selector)
		}
	}
	probes := map[string]*core.Probe{"/live": node.LivenessProbe, "/ready": node.ReadinessProbe}
	for path, probe := range probes {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || ports[probe.HTTPGet.Port.StrVal] == 0 {
			return fmt.Errorf("the probe of %s asks something else", path)
		}
	}
	volumes := []string{}
	for _, one := range pod.Spec.Volumes {
		volumes = append(volumes, one.Name)
	}
	for _, one := range e.set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, one.Name)
	}
	for _, container := range []*core.Container{node, prepare} {
		for _, one := range container.VolumeMounts {
			if !slices.Contains(volumes, one.Name) {
				return fmt.Errorf("no volume is named %s", one.Name)
			}
		}
	}
	switch {
	case e.headless.Spec.ClusterIP != core.ClusterIPNone || !e.headless.Spec.PublishNotReadyAddresses:
		return fmt.Errorf("nodes do not find each other before they are ready")
	case e.set.Spec.ServiceName != e.headless.Name:
		return fmt.Errorf("the pods get their names of service %s", e.set.Spec.ServiceName)
	case e.set.Spec.PodManagementPolicy != apps.ParallelPodManagement:
		return fmt.Errorf("the first pod waits for itself: no node is ready alone")
	case e.budget.Spec.MaxUnavailable == nil || *e.budget.Spec.MaxUnavailable != intstr.FromInt32(1):
		return fmt.Errorf("more than one node may be stopped")
	case *e.set.Spec.Replicas < 3:
		return fmt.Errorf("a group has three replicas, and there are %d nodes", *e.set.Spec.Replicas)
	}
	return nil
}

func text(t *testing.T) []byte {
	t.Helper()
	read, err := os.ReadFile("holm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestTheExampleIsWhatKubernetesReadsAndFitsTogether(t *testing.T) {
	read, err := load(text(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.check(); err != nil {
		t.Fatal(err)
	}
}

func TestAnExampleThatDoesNotFitIsFound(t *testing.T) {
	for _, change := range [][2]string{
		{"maxUnavailable: 1", "maxUnavailable: 2"},
		{"maxUnavailable: 1", "maxUnavailble: 1"},
		{"publishNotReadyAddresses: true", "publishNotReadyAddresses: false"},
		{"podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady"},
		{"serviceName: holm", "serviceName: reef"},
		{"{name: raft, port: 17001}", "{name: raft, port: 17002}"},
		{"path: /ready, port: page", "path: /live, port: page"},
		{"- {name: config, mountPath", "- {name: settings, mountPath"},
		{"readinessProbe:", "readynessProbe:"},
		{"replicas: 3", "replicas: two"},
	} {
		changed := strings.Replace(string(text(t)), change[0], change[1], 1)
		if changed == string(text(t)) {
			t.Fatalf("%q is not there", change[0])
		}
		if read, err := load([]byte(changed)); err == nil && read.check() == nil {
			t.Errorf("%q in place of %q is not found", change[1], change[0])
		}
	}
}

// The options of the program are those of the example: the script makes the nodes that serve.
func TestTheScriptMakesNodesOnce(t *testing.T) {
	program := os.Getenv("HOLM_CLUSTER")
	if program == "" {
		t.Skip("HOLM_CLUSTER names no program")
	}
	read, err := load(text(t))
	if err != nil {
		t.Fatal(err)
	}
	pod := &read.set.Spec.Template.Spec
	folder := t.TempDir()
	script := filepath.Join(folder, "prepare.sh")
	if err := os.WriteFile(script, []byte(read.config.Data["prepare.sh"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(folder, "holm-cluster")); err != nil {
		t.Fatal(err)
	}
	run := func(ordinal int) (string, error) {
		command := exec.Command("sh", script)
		command.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
		for _, one := range pod.InitContainers[0].Env {
			value := one.Value
			switch one.Name {
			case "HOLM_FOLDER":
				value = filepath.Join(folder, fmt.Sprint("data", ordinal))
			case "HOLM_POD":
				value = fmt.Sprintf("%s-%d", read.set.Name, ordinal)
			case "HOLM_CLUSTER_PASSWORD":
				value = "trial"
			}
			command.Env = append(command.Env, one.Name+"="+value)
		}
		said, err := command.CombinedOutput()
		return string(said), err
	}
	var folders []string
	for ordinal := range 3 {
		for range 2 {
			if said, err := run(ordinal); err != nil {
				t.Fatal(err, said)
			}
		}
		made, err := os.ReadFile(filepath.Join(folder, fmt.Sprint("data", ordinal), "node", "cluster.json"))
		if err != nil {
			t.Fatal(err)
		}
		var settings struct {
			ID      int
			Folder  string
			Members []struct {
				ID                   int
				Address, Raft, Plain string
			}
		}
		if err := json.Unmarshal(made, &settings); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("holm-%d.holm.default.svc.cluster.local", ordinal)
		own := settings.Members[ordinal]
		if settings.ID != ordinal+1 || len(settings.Members) != 3 || own.Address != name+":7001" ||
			own.Raft != name+":17001" || own.Plain != name+":7101" {
			t.Fatalf("%s", made)
		}
		folders = append(folders, settings.Folder)
	}
	if folders[0] == folders[1] || folders[1] == folders[2] {
		t.Fatal("nodes have the same folder")
	}
	// A fourth pod joins. Its verb reads the authority of those whom it is to ask first, and here there is none.
	if said, err := run(3); err == nil || !strings.Contains(said, "/secrets/ca.crt: no such file") {
		t.Fatal("a fourth node does not ask to join:", said, err)
	}
	// What the container runs has the options of the program.
	words := pod.Containers[0].Command
	said, _ := exec.Command(program, words[1], "--help").CombinedOutput()
	for _, word := range words[2:] {
		if strings.HasPrefix(word, "--") && !strings.Contains(string(said), word[1:]+" ") {
			t.Errorf("%s has no %s: %s", words[1], word, said)
		}
	}
}
