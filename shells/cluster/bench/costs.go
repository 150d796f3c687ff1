package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// costs is what an engine's processes have taken, all nodes together, or what they take for a request.
type costs struct {
	// Microseconds of processors.
	processor float64
	// Bytes that were handed to disks, and bytes over the loopback device. The latter has what others send there too,
	// but in a network namespace of the measurement's own.
	disk, network float64
}

// costsOf returns what processes have taken so far. What cannot be read is not counted.
func costsOf(processes []int) costs {
	var found costs
	for _, process := range processes {
		// The name may have blanks: fields are counted after it.
		_, after, _ := strings.Cut(read("/proc/%d/stat", process), ") ")
		if fields := strings.Fields(after); len(fields) > 12 {
			// In hundredths of a second, as the kernel has promised to all programs.
			found.processor += 1e4 * (number(fields[11]) + number(fields[12]))
		}
		_, after, _ = strings.Cut(read("/proc/%d/io", process), "\nwrite_bytes: ")
		line, _, _ := strings.Cut(after, "\n")
		found.disk += number(line)
	}
	_, after, _ := strings.Cut(read("/proc/net/dev"), "lo:")
	if fields := strings.Fields(after); len(fields) > 0 {
		found.network = number(fields[0])
	}
	return found
}

func read(format string, arguments ...any) string {
	text, _ := os.ReadFile(fmt.Sprintf(format, arguments...))
	return string(text)
}

func number(text string) float64 {
	found, _ := strconv.ParseFloat(text, 64)
	return found
}

// per returns what was taken for each of so many requests.
func (c costs) per(before costs, requests int) costs {
	count := float64(requests)
	return costs{
		(c.processor - before.processor) / count, (c.disk - before.disk) / count, (c.network - before.network) / count,
	}
}
