package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holm-cluster/trial"
)

// savedAndRestored is what one round has shown.
type savedAndRestored struct{ save, restore, bytes float64 }

// backups makes a backup of a cluster that has keys and nothing else to do, and restores it into an empty one, in rounds
// with clusters of their own. One cluster runs at a time.
func backups(with load, rounds int, parent string, groups int) error {
	fmt.Printf("%d rounds; %d keys, values of %d bytes, %d groups\n", rounds, with.keys, with.bytes, groups)
	var saves, restores, sizes []float64
	for round := range rounds {
		folder := filepath.Join(parent, fmt.Sprint("round", round+1))
		if err := os.Mkdir(folder, 0o750); err != nil {
			return err
		}
		load := loadAverage()
		found, err := backUpOnce(with, folder, groups)
		if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
			return err
		}
		fmt.Printf("round %d: backup %.1f s, restore %.1f s, %.0f MB; load before %s\n", round+1, found.save, found.restore,
			found.bytes/1e6, load)
		saves, restores = append(saves, found.save), append(restores, found.restore)
		sizes = append(sizes, found.bytes)
	}
	bytes := medianOf(sizes).median
	row([]string{"", "seconds", "MB/s of the backup"})
	rule(3)
	for _, each := range []struct {
		name  string
		times []float64
	}{{"backup", saves}, {"restore", restores}} {
		time := medianOf(each.times)
		row([]string{each.name, fmt.Sprintf("%.1f (%.1f to %.1f)", time.median, time.least, time.greatest),
			fmt.Sprintf("%.1f", bytes/1e6/time.median)})
	}
	return nil
}

func backUpOnce(with load, folder string, groups int) (found savedAndRestored, err error) {
	saved := filepath.Join(folder, "backup")
	found.save, err = inCluster(filepath.Join(folder, "before"), groups, with, func(one *cluster) (float64, error) {
		begun := time.Now()
		_, err := one.running.Operate("backup", "--to", saved)
		return time.Since(begun).Seconds(), err
	})
	if err != nil {
		return found, err
	}
	err = filepath.WalkDir(saved, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		found.bytes += float64(info.Size())
		return err
	})
	if err != nil {
		return found, err
	}
	keys := with.keys
	with.keys = 0
	found.restore, err = inCluster(filepath.Join(folder, "after"), groups, with, func(one *cluster) (float64, error) {
		begun := time.Now()
		_, err := one.running.Operate("restore", "--from", saved)
		length := time.Since(begun).Seconds()
		return length, errors.Join(err, hasAll(context.Background(), one.running, 0, keys))
	})
	return found, err
}

// inCluster starts a cluster with keys, and returns what some work there gives.
func inCluster(folder string, groups int, with load, work func(*cluster) (float64, error)) (float64, error) {
	ctx := context.Background()
	if err := os.Mkdir(folder, 0o750); err != nil {
		return 0, err
	}
	started, err := trial.Start(folder, trial.Settings{Groups: groups, Init: []string{"--election-ms", "750"}})
	if err != nil {
		return 0, err
	}
	defer started.Close()
	one := &cluster{folder: folder, groups: groups, keys: with.keys, running: started}
	if err := errors.Join(started.Ready(ctx), started.Spread(ctx), one.findSlots(ctx)); err != nil {
		return 0, err
	}
	if with.keys > 0 {
		if err := fill(ctx, one, with); err != nil {
			return 0, err
		}
	}
	return work(one)
}
