package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// made writes a backup of three groups, whose files have some bytes each.
func made(t *testing.T, words string) string {
	t.Helper()
	one := &saver{folder: filepath.Join(t.TempDir(), "b.part"), made: manifest{Format: manifestFormat, Cluster: words,
		Taken: time.Unix(1_000_000, 0).UTC(), Level: 2, Next: 9}}
	if err := os.Mkdir(one.folder, 0o750); err != nil {
		t.Fatal(err)
	}
	for group := range 3 {
		text := []byte(words + string(rune('a'+group)))
		if err := os.WriteFile(groupFile(one.folder, group), text, 0o600); err != nil {
			t.Fatal(err)
		}
		one.made.Groups = append(one.made.Groups, saved{Group: group, Bytes: int64(len(text)), Sum: sumOf(text)})
	}
	to := one.folder[:len(one.folder)-len(".part")]
	if err := one.complete(to); err != nil {
		t.Fatal(err)
	}
	return to
}

func read(folder string) error {
	found, err := readManifest(folder)
	if err != nil {
		return err
	}
	return found.verify(folder)
}

func TestABackupIsReadAsItWasWrittenAndRefusedIfAnyByteIsAnother(t *testing.T) {
	folder, foreign := made(t, "reefs"), made(t, "shoal")
	if err := read(folder); err != nil {
		t.Fatal(err)
	}
	refuses := func(name string, content []byte) {
		t.Helper()
		path := filepath.Join(folder, name)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var damaged *errDamaged
		if err := read(folder); !errors.As(err, &damaged) {
			t.Fatalf("%s with %q: %v", name, content, err)
		}
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{manifestFile, "group-0.holm", "group-2.holm"} {
		whole, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(whole); at += 1 + len(whole)/60 {
			changed := append([]byte{}, whole...)
			changed[at] ^= 1
			refuses(name, changed)
			refuses(name, whole[:at])
		}
		other, err := os.ReadFile(filepath.Join(foreign, name))
		if err != nil {
			t.Fatal(err)
		}
		if name != manifestFile {
			refuses(name, other)
		}
	}
	// The manifest of another backup, whose sums are right.
	other, err := os.ReadFile(filepath.Join(foreign, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	refuses(manifestFile, other)
	if err := os.Remove(filepath.Join(folder, "group-1.holm")); err != nil {
		t.Fatal(err)
	}
	var damaged *errDamaged
	if err := read(folder); !errors.As(err, &damaged) {
		t.Fatal("a file is missing:", err)
	}
	if err := os.Remove(filepath.Join(folder, manifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := read(folder); !errors.Is(err, errNoBackup) {
		t.Fatal("a backup without its manifest:", err)
	}
}
