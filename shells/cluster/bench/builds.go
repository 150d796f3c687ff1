package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// leasing is the name among builds of the one that is measured, with reads by leases.
const leasing = "lease"

// compareBuilds measures holm-cluster, other builds of it, and etcd.
func compareBuilds(
	with load, rounds int, cells []cell, folder string, programs []string, groups int, everywhere bool,
) error {
	var engines []engine
	for at, program := range append([]string{""}, programs...) {
		title := "holm-cluster"
		var serve []string
		if program == leasing {
			title, program, serve = "with leases", "", []string{"--reads", "lease"}
		} else if program != "" {
			title = filepath.Base(program)
		}
		own := filepath.Join(folder, fmt.Sprint("build", at))
		if err := os.Mkdir(own, 0o750); err != nil {
			return err
		}
		one := &cluster{title: title, folder: own, program: program, serve: serve, groups: groups, keys: with.keys}
		engines = append(engines, one)
	}
	own := filepath.Join(folder, "etcd")
	if err := os.Mkdir(own, 0o750); err != nil {
		return err
	}
	engines = withEtcd(engines, own, with.keys, everywhere)
	return compare(with, rounds, cells, folder, engines)
}
