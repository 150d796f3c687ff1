package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holm-cluster/trial"
)

// nothingIn returns an error if a process, a mount or a loop device uses a folder.
func nothingIn(folder string) error {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	devices, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, name := range append(append(commands, devices...), "/proc/self/mounts") {
		if said, err := os.ReadFile(name); err == nil && strings.Contains(string(said), folder) {
			return fmt.Errorf("%s has %s", name, said)
		}
	}
	return nil
}

func TestATrialThatIsCutShortLeavesNothing(t *testing.T) {
	if _, err := trial.Program(); err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "jepsen")
	if said, err := exec.Command("go", "build", "-o", program, "../jepsen").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	trials := filepath.Join(folder, "trials")
	must(t, os.Mkdir(trials, 0o700))
	start := func(words ...string) *exec.Cmd {
		started := exec.Command(program, words...)
		started.Env = append(os.Environ(), "TMPDIR="+trials)
		must(t, started.Start())
		return started
	}
	left := func() []string {
		found, _ := filepath.Glob(filepath.Join(trials, "*"))
		return found
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		running := start("--seconds", "600")
		must(t, trial.Until(60*time.Second, func() error {
			logs, _ := filepath.Glob(filepath.Join(trials, "*", "nodes", "node3.log"))
			if said, err := os.ReadFile(strings.Join(logs, "")); err != nil || len(said) == 0 {
				return errors.New("the third node does not serve yet")
			}
			return nil
		}))
		if nothingIn(trials) == nil {
			t.Fatal("nodes that run are not found")
		}
		must(t, running.Process.Signal(signal))
		if running.Wait() == nil {
			t.Fatalf("after %v all is well", signal)
		}
		must(t, trial.Until(60*time.Second, func() error { return nothingIn(trials) }))
		if kept := signal == syscall.SIGKILL; kept != (len(left()) > 0) {
			t.Fatalf("after %v there is %v", signal, left())
		}
	}
	// What nobody could remove goes with the next call.
	if start("--mutant", "none such").Wait() == nil {
		t.Fatal("a mutant that nobody knows is tried")
	}
	same(t, "what is left", fmt.Sprint(left()), "[]")
}
