package main

import (
	"fmt"
	"slices"
	"strings"
)

// results has what was measured, by engine, cell and round.
type results struct {
	engines []engine
	cells   []cell
	found   map[string][][]measured
}

// spread is the median of numbers, the least and the greatest.
type spread struct{ median, least, greatest float64 }

func medianOf(numbers []float64) spread {
	sorted := slices.Sorted(slices.Values(numbers))
	return spread{sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]}
}

func newResults(engines []engine, cells []cell) *results {
	made := &results{engines: engines, cells: cells, found: map[string][][]measured{}}
	for _, one := range engines {
		made.found[one.name()] = make([][]measured, len(cells))
	}
	return made
}

func (r *results) add(one engine, cell int, found measured) {
	r.found[one.name()][cell] = append(r.found[one.name()][cell], found)
}

// over returns the spread of a figure of an engine over the rounds.
func (r *results) over(one engine, cell int, part func(measured) float64) spread {
	var numbers []float64
	for _, found := range r.found[one.name()][cell] {
		numbers = append(numbers, part(found))
	}
	return medianOf(numbers)
}

// ratio returns how many times as fast the first engine is, in each round.
func (r *results) ratio(other engine, cell int) spread {
	var ratios []float64
	for round, found := range r.found[r.engines[0].name()][cell] {
		ratios = append(ratios, found.rate/r.found[other.name()][cell][round].rate)
	}
	return medianOf(ratios)
}

func row(words []string) { fmt.Println("| " + strings.Join(words, " | ") + " |") }

func rule(columns int) { fmt.Println(strings.Repeat("|---", columns) + "|") }

// loses puts a figure into italics.
func loses(text string, isWorse bool) string {
	if isWorse {
		return "*" + text + "*"
	}
	return text
}

// print prints tables of Markdown. Figures of the first engine that are worse than another one's are in italics.
func (r *results) print() {
	var names, head []string
	for _, one := range r.engines {
		names = append(names, one.name())
	}
	for _, name := range names[1:] {
		head = append(head, names[0]+" / "+name)
	}
	fmt.Printf("Thousands of requests per second, and ratios of rounds:\n\n")
	row(append(append([]string{""}, names...), head...))
	rule(2 * len(names))
	for at, cell := range r.cells {
		words := []string{cell.String()}
		for _, one := range r.engines {
			rate := r.over(one, at, func(m measured) float64 { return m.rate / 1e3 })
			words = append(words, fmt.Sprintf("%.1f (%.1f to %.1f)", rate.median, rate.least, rate.greatest))
		}
		for _, other := range r.engines[1:] {
			ratio := r.ratio(other, at)
			text := loses(fmt.Sprintf("%.2f", ratio.median), ratio.median < 1)
			words = append(words, fmt.Sprintf("%s (%.2f to %.2f)", text, ratio.least, ratio.greatest))
		}
		row(words)
	}
	r.printWaits(names)
	r.printClient(names)
	r.printCosts(names)
	r.printRefused()
}

func (r *results) printWaits(names []string) {
	r.printEach("Milliseconds until a reply, p50 and p99", names, func(one engine, at int) string {
		middle := r.over(one, at, func(m measured) float64 { return m.middle })
		tail := r.over(one, at, func(m measured) float64 { return m.tail })
		return fmt.Sprintf("%.2f, %.2f", middle.median, tail.median)
	})
}

// printCosts prints what all nodes of an engine take together for a request.
func (r *results) printCosts(names []string) {
	title := "Of all nodes, for a request: microseconds of processors, bytes to disks, bytes over the loopback device"
	r.printEach(title, names, func(one engine, at int) string {
		over := func(part func(costs) float64) float64 {
			return r.over(one, at, func(m measured) float64 { return part(m.nodes) }).median
		}
		return fmt.Sprintf("%.1f, %.0f, %.0f", over(func(c costs) float64 { return c.processor }),
			over(func(c costs) float64 { return c.disk }), over(func(c costs) float64 { return c.network }))
	})
}

func (r *results) printClient(names []string) {
	r.printEach("Microseconds of processors that the client takes for a request", names, func(one engine, at int) string {
		return fmt.Sprintf("%.1f", r.over(one, at, func(m measured) float64 { return m.client }).median)
	})
}

// printEach prints a table with a row for each cell and a column for each engine.
func (r *results) printEach(title string, names []string, text func(one engine, cell int) string) {
	fmt.Printf("\n%s:\n\n", title)
	row(append([]string{""}, names...))
	rule(1 + len(names))
	for at, cell := range r.cells {
		words := []string{cell.String()}
		for _, one := range r.engines {
			words = append(words, text(one, at))
		}
		row(words)
	}
}

func (r *results) printRefused() {
	for at, cell := range r.cells {
		for _, one := range r.engines {
			refused := 0
			for _, found := range r.found[one.name()][at] {
				refused += found.refused
			}
			if refused > 0 {
				fmt.Printf("\n%s, %s: %d requests were refused\n", cell, one.name(), refused)
			}
		}
	}
}
