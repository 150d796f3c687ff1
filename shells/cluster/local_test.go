package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A call that was cut short between two folders left a cluster whose other founders nobody made, ever.
func TestALocalClusterThatWasCutShortIsMadeWhole(t *testing.T) {
	folder := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first := localSettings(3, 7001, 4, 1000)
	must(first[0].create(nodeFolder(folder, 1)))
	for range 2 {
		must(makeLocal(folder, localSettings(3, 7001, 4, 1000)))
		for id := uint64(1); id <= 3; id++ {
			found, err := readSettings(nodeFolder(folder, int(id)))
			must(err)
			if found.ID != id || found.Cluster != first[0].Cluster || (id == 1) != (found.Folder == first[0].Folder) {
				t.Fatalf("node %d: %+v", id, found)
			}
		}
	}
	// A founder that is lost once it has begun is not made again.
	begun := first[0]
	begun.Founders = &founders{HasBegun: true}
	must(os.RemoveAll(nodeFolder(folder, 1)))
	must(begun.create(nodeFolder(folder, 1)))
	must(os.RemoveAll(nodeFolder(folder, 3)))
	must(makeLocal(folder, localSettings(3, 7001, 4, 1000)))
	if _, err := os.Stat(filepath.Join(nodeFolder(folder, 3), settingsFile)); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a founder is made again:", err)
	}
}
