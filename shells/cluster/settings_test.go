package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A folder keeps the number of threads that write its logs: the consensus engine refuses another one.
func TestAFolderThatDoesNotSayHowManyWriteItsLogsHasAsManyAsFormerOnes(t *testing.T) {
	folder := t.TempDir()
	made := localSettings(1, 7001, 4, 1000)[0]
	if err := made.create(folder); err != nil {
		t.Fatal(err)
	}
	read := func() uint64 {
		found, err := readSettings(folder)
		if err != nil {
			t.Fatal(err)
		}
		return found.LogWriters
	}
	if found := read(); found != 1 {
		t.Errorf("a new folder has %d", found)
	}
	name := filepath.Join(folder, settingsFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	former := bytes.Replace(text, []byte("  \"log_writers\": 1,\n"), nil, 1)
	if bytes.Equal(former, text) {
		former = bytes.Replace(text, []byte(",\n  \"log_writers\": 1"), nil, 1)
	}
	if bytes.Equal(former, text) {
		t.Fatalf("it does not say it: %s", text)
	}
	if err := os.WriteFile(name, former, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := read(); found != 16 {
		t.Errorf("a former folder has %d", found)
	}
}
