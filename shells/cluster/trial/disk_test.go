package trial

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writerVariable has the file that this program appends to, in place of its tests.
const writerVariable = "HOLM_TRIAL_WRITER"

const record = 4096

func TestMain(m *testing.M) {
	if name := os.Getenv(writerVariable); name != "" {
		fmt.Fprintln(os.Stderr, appendForEver(name))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForEver appends numbers to a file, and says each once it is synced.
func appendForEver(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	bytes := make([]byte, record)
	for number := uint64(1); ; number++ {
		binary.LittleEndian.PutUint64(bytes, number)
		if _, err := file.Write(bytes); err != nil {
			return err
		}
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return err
		}
		fmt.Println(number)
	}
}

// lost returns how many records a process has said to be synced, and an error if one of them is not there.
func lost(log *os.File, numbers string) (synced int, err error) {
	said, err := os.ReadFile(log.Name())
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(said), "\n") {
		if _, err := strconv.Atoi(line); err == nil {
			synced++
		}
	}
	// There may be no file: nothing was synced then.
	found, _ := os.ReadFile(numbers)
	for number := 1; number <= synced; number++ {
		if len(found) < number*record || binary.LittleEndian.Uint64(found[(number-1)*record:]) != uint64(number) {
			return synced, fmt.Errorf("%d records were synced, and record %d is lost", synced, number)
		}
	}
	return synced, nil
}

// A file system that is shut down lets syncs succeed that are under way, although what they were to write is lost. No
// process may hear of that: the power of its processor is gone as well.
func TestALossOfPowerLosesNothingThatWasSynced(t *testing.T) {
	folder, err := os.MkdirTemp("", "holm-power")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	all := []int{0, 1, 2}
	running := &Cluster{Folder: folder, processes: make([]*process, len(all))}
	for at := range all {
		one, err := newDisk(running.node(at), 64<<20)
		if err != nil {
			t.Skipf("no disk of its own: %v", err)
		}
		defer func() { _ = run("umount", "-l", one.folder) }()
		defer running.Kill(at)
		running.disks = append(running.disks, one)
	}
	acknowledged := 0
	for round := range 50 {
		var logs []*os.File
		for at, one := range running.disks {
			log, err := os.Create(running.node(at) + ".log")
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			logs = append(logs, log)
			t.Setenv(writerVariable, filepath.Join(one.folder, "numbers"))
			if running.processes[at], err = startProcess(log, os.Args[0]); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(20+round%40) * time.Millisecond)
		if err := running.LosePower(all...); err != nil {
			t.Fatal(err)
		}
		for at, one := range running.disks {
			synced, err := lost(logs[at], filepath.Join(one.folder, "numbers"))
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			acknowledged += synced
		}
	}
	if acknowledged == 0 {
		t.Fatal("nothing was synced")
	}
	t.Logf("%d records", acknowledged)
}
