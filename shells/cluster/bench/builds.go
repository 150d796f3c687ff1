package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// compareBuilds measures holm-cluster, other builds of it, and etcd.
func compareBuilds(
	with load, rounds int, cells []cell, folder string, programs []string, groups int, everywhere bool,
) error {
	var engines []engine
	for at, program := range append([]string{""}, programs...) {
		title := "holm-cluster"
		if program != "" {
			title = filepath.Base(program)
		}
		own := filepath.Join(folder, fmt.Sprint("build", at))
		if err := os.Mkdir(own, 0o750); err != nil {
			return err
		}
		one := &cluster{title: title, folder: own, program: program, groups: groups, keys: with.keys}
		engines = append(engines, one)
	}
	own := filepath.Join(folder, "etcd")
	if err := os.Mkdir(own, 0o750); err != nil {
		return err
	}
	engines = withEtcd(engines, own, with.keys, everywhere)
	return compare(with, rounds, cells, folder, engines)
}
