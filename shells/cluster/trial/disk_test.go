package trial

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writerVariable has the folder that this program writes to, in place of its tests.
const writerVariable = "HOLM_TRIAL_WRITER"

const record = 4096

func TestMain(m *testing.M) {
	if folder := os.Getenv(writerVariable); folder != "" {
		fmt.Fprintln(os.Stderr, writeForEver(folder))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// numbers is the file that numbers are appended to. Each has a file of its own, too, of which the last ones stay.
const numbers, stay = "numbers", 2

func of(number uint64) string { return fmt.Sprint("number", number) }

// writeForEver writes numbers, and says each once it is synced.
func writeForEver(folder string) error {
	all, err := os.Create(filepath.Join(folder, numbers))
	if err != nil {
		return err
	}
	names, err := os.Open(folder)
	if err != nil {
		return err
	}
	bytes := make([]byte, record)
	for number := uint64(1); ; number++ {
		binary.LittleEndian.PutUint64(bytes, number)
		one, err := os.Create(filepath.Join(folder, of(number)))
		if err != nil {
			return err
		}
		for _, file := range []*os.File{all, one} {
			if _, err := file.Write(bytes); err != nil {
				return err
			}
			if err := syscall.Fdatasync(int(file.Fd())); err != nil {
				return err
			}
		}
		if err := errors.Join(one.Close(), names.Sync()); err != nil {
			return err
		}
		fmt.Println(number)
		// Without a sync: after a loss of power it is there, as it was, or it is not.
		if err := os.Remove(filepath.Join(folder, of(number-stay))); err != nil && number > stay {
			return err
		}
	}
}

// has returns an error if a file does not have a number at a place.
func has(file []byte, at int, number uint64) error {
	if len(file) < (at+1)*record || binary.LittleEndian.Uint64(file[at*record:]) != number {
		return fmt.Errorf("record %d is lost", number)
	}
	return nil
}

// lost returns how many numbers a process has said to be synced, and an error if one of them is not there.
func lost(log *os.File, folder string) (synced uint64, err error) {
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
	all, _ := os.ReadFile(filepath.Join(folder, numbers))
	for number := uint64(1); number <= synced; number++ {
		if err := has(all, int(number-1), number); err != nil {
			return synced, fmt.Errorf("of %d records: %w", synced, err)
		}
		one, err := os.ReadFile(filepath.Join(folder, of(number)))
		if errors.Is(err, os.ErrNotExist) && number+stay <= synced+1 {
			continue
		}
		if err = errors.Join(err, has(one, 0, number)); err != nil {
			return synced, fmt.Errorf("of %d files: %w", synced, err)
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
	acknowledged := uint64(0)
	for round := range 50 {
		var logs []*os.File
		for at, one := range running.disks {
			if err := run("find", one.folder, "-type", "f", "-delete"); err != nil {
				t.Fatal(err)
			}
			log, err := os.Create(running.node(at) + ".log")
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			logs = append(logs, log)
			t.Setenv(writerVariable, one.folder)
			if running.processes[at], err = startProcess(log, os.Args[0]); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(20+round%40) * time.Millisecond)
		if err := running.LosePower(all...); err != nil {
			t.Fatal(err)
		}
		for at, one := range running.disks {
			synced, err := lost(logs[at], one.folder)
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
