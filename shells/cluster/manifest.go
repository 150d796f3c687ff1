// The manifest of a backup: which cluster it is of, each group at one entry of its log, and what the files must have.
//
//	FOLDER/group-0.holm ...   the frames of each group, as a replica streams them
//	FOLDER/backup.json        written last
//
// A backup is made in FOLDER.part, which gets its name when all of it is at rest.

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	manifestFile   = "backup.json"
	manifestFormat = 1
)

// saved is a group in a backup.
type saved struct {
	Group int `json:"group"`
	// The last entry of its log that the backup has.
	Entry uint64 `json:"entry"`
	Keys  uint64 `json:"keys"`
	Bytes int64  `json:"bytes"`
	// SHA-256 of its file.
	Sum string `json:"sha256"`
}

// manifest is what a backup has.
type manifest struct {
	Format  int    `json:"format"`
	Cluster string `json:"cluster"`
	// When all groups had been looked at, and before.
	Taken time.Time `json:"taken"`
	// The level that the cluster had.
	Level uint8 `json:"level"`
	// No id of the cluster is as large.
	Next   uint64  `json:"next"`
	Slots  []owned `json:"slots"`
	Groups []saved `json:"groups"`
	// SHA-256 of the manifest without it.
	Sum string `json:"sha256"`
}

var (
	errNoBackup     = errors.New("no backup, or one that was cut short")
	errBackupExists = errors.New("the folder of a backup is new, and this one is there")
)

// errDamaged is a file of a backup that has not what the manifest says.
type errDamaged struct{ file, found, expected string }

func (e *errDamaged) Error() string {
	return fmt.Sprintf("%s is damaged, or of another backup: found %s, expected %s", e.file, e.found, e.expected)
}

// errGroupCount is a backup of a cluster with another number of groups.
type errGroupCount struct{ backup, cluster int }

func (e *errGroupCount) Error() string {
	return fmt.Sprintf("the backup has %d groups and the cluster %d: a new cluster is to have as many", e.backup, e.cluster)
}

func groupFile(folder string, group int) string {
	return filepath.Join(folder, fmt.Sprintf("group-%d.holm", group))
}

// bytes returns the manifest with its sum.
func (m manifest) bytes() ([]byte, error) {
	m.Sum = ""
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	m.Sum = sumOf(text)
	return json.MarshalIndent(m, "", "  ")
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// number returns the number by which groups know the backup: a part of its sum, and not 0.
func (m *manifest) number() uint64 {
	sum, err := hex.DecodeString(m.Sum)
	if err != nil || len(sum) < 8 {
		return 1
	}
	return binary.LittleEndian.Uint64(sum) | 1
}

// readManifest reads that of a folder, and looks at no other file.
func readManifest(folder string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(folder, manifestFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", folder, errNoBackup)
	}
	if err != nil {
		return nil, err
	}
	var read manifest
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, &errDamaged{manifestFile, err.Error(), "a manifest"}
	}
	if read.Format != manifestFormat {
		return nil, &errDamaged{manifestFile, fmt.Sprint("format ", read.Format), fmt.Sprint("format ", manifestFormat)}
	}
	expected, err := read.bytes()
	if err != nil {
		return nil, err
	}
	if string(expected) != string(text) {
		return nil, &errDamaged{manifestFile, "other bytes", "those of its sum"}
	}
	for at, one := range read.Groups {
		if one.Group != at {
			return nil, &errDamaged{manifestFile, fmt.Sprint("group ", one.Group), fmt.Sprint("group ", at)}
		}
	}
	return &read, nil
}

// verify reads the files of all groups, and compares them with the manifest.
func (m *manifest) verify(folder string) error {
	for _, one := range m.Groups {
		name := groupFile(folder, one.Group)
		file, err := os.Open(name)
		if err != nil {
			return &errDamaged{filepath.Base(name), err.Error(), fmt.Sprint(one.Bytes, " bytes")}
		}
		sum := sha256.New()
		count, err := io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		if count != one.Bytes {
			return &errDamaged{filepath.Base(name), fmt.Sprint(count, " bytes"), fmt.Sprint(one.Bytes, " bytes")}
		}
		if found := hex.EncodeToString(sum.Sum(nil)); found != one.Sum {
			return &errDamaged{filepath.Base(name), "SHA-256 " + found, one.Sum}
		}
	}
	return nil
}

// readFrame returns the next frame of a file, and io.EOF after the last one. Its sum is compared by those who get it.
func readFrame(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(frameHeader)
	if err != nil {
		if errors.Is(err, io.EOF) && len(header) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	frame := make([]byte, frameHeader+int(binary.LittleEndian.Uint32(header)))
	_, err = io.ReadFull(from, frame)
	return frame, err
}
