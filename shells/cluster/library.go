// The state machine of the cluster, which is Rust, behind the calls of holm_node.h.

package main

/*
#cgo CFLAGS: -I${SRCDIR}/../node/include
#cgo LDFLAGS: -lm -ldl -lpthread
#include <stdlib.h>
#include "holm_node.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"
)

// database is the database of a node, with all groups of it.
type database struct{ handle *C.holm_node }

// group is the state machine of a group. The gate keeps it open while a call is under way.
type group struct {
	handle *C.holm_group
	gate   sync.RWMutex
	// Entries that were applied, in so many calls, and how long they took.
	applied, applies, applyNanoseconds atomic.Int64
	progress                           progress
}

var errClosed = errors.New("holm: the group is closed")

// enter opens the gate for a call. The caller leaves by what is returned, unless there is an error.
func (g *group) enter() (func(), error) {
	g.gate.RLock()
	if g.handle == nil {
		g.gate.RUnlock()
		return nil, errClosed
	}
	return g.gate.RUnlock, nil
}

// view is a group as it was at one instant, which gives frames.
type view struct{ handle *C.holm_view }

// restore fills a group from frames.
type restore struct{ handle *C.holm_restore }

// options are those of tests; the zero value is for use.
type options struct {
	capacity     uint64
	privateImage bool
	indexApart   bool
	// The highest level of entries that is known; 0: the library's.
	level uint8
}

// libraryLevel returns the highest level of entries that the library knows.
func libraryLevel() uint8 { return uint8(C.holm_node_level()) }

func switched(set bool) C.uint32_t {
	if set {
		return 1
	}
	return 0
}

// taken copies what a call gave, and frees it.
func taken(out C.holm_bytes) []byte {
	// C.GoBytes takes no more than 2 GiB.
	copied := append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(out.data)), int(out.size))...)
	C.holm_node_free(out)
	return copied
}

// checked makes an error of a code.
func checked(code C.int, out C.holm_bytes) ([]byte, error) {
	bytes := taken(out)
	if code == C.HOLM_NODE_LEVEL {
		return nil, fmt.Errorf("%w: %s", errLevel, bytes)
	}
	if code < 0 {
		return nil, fmt.Errorf("holm: %s", bytes)
	}
	return bytes, nil
}

func pointer(bytes []byte) *C.uint8_t {
	return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(bytes)))
}

func openDatabase(folder string, with options) (*database, error) {
	name := C.CString(folder)
	defer C.free(unsafe.Pointer(name))
	chosen := C.holm_node_options{
		capacity:      C.uint64_t(with.capacity),
		private_image: switched(with.privateImage),
		index_apart:   switched(with.indexApart),
		level:         C.uint8_t(with.level),
	}
	var opened database
	var out C.holm_bytes
	code := C.holm_node_open(name, &chosen, &opened.handle, &out)
	if _, err := checked(code, out); err != nil {
		return nil, err
	}
	return &opened, nil
}

// sync returns once all that was applied before, in all groups, is durable.
func (d *database) sync() error {
	var out C.holm_bytes
	_, err := checked(C.holm_node_sync(d.handle, &out), out)
	return err
}

func (d *database) close() { C.holm_node_close(d.handle) }

// statistics are those of the database.
func (d *database) statistics() (C.holm_node_statistics, error) {
	var found C.holm_node_statistics
	var out C.holm_bytes
	_, err := checked(C.holm_node_stats(d.handle, &found, C.sizeof_holm_node_statistics, &out), out)
	return found, err
}

func (d *database) openGroup(number uint64) (*group, uint64, error) {
	var opened group
	var applied C.uint64_t
	var out C.holm_bytes
	code := C.holm_group_open(d.handle, C.uint64_t(number), &opened.handle, &applied, &out)
	_, err := checked(code, out)
	return &opened, uint64(applied), err
}

// removeGroup removes a group that is closed, with all that it has.
func (d *database) removeGroup(number uint64) error {
	var out C.holm_bytes
	_, err := checked(C.holm_group_remove(d.handle, C.uint64_t(number), &out), out)
	return err
}

func (g *group) close() {
	g.gate.Lock()
	defer g.gate.Unlock()
	C.holm_group_close(g.handle)
	g.handle = nil
}

// apply applies packed entries: (index 8 | length 4 | entry)*. The answer has (length 4 | reply)*.
func (g *group) apply(entries []byte) ([]byte, error) {
	leave, err := g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var out C.holm_bytes
	code := C.holm_group_apply(g.handle, pointer(entries), C.size_t(len(entries)), &out)
	return checked(code, out)
}

// read answers parts that only read.
func (g *group) read(parts []byte) ([]byte, error) {
	leave, err := g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var out C.holm_bytes
	code := C.holm_group_read(g.handle, pointer(parts), C.size_t(len(parts)), &out)
	return checked(code, out)
}

// last returns the index of the last entry, once those that are being applied have taken effect.
func (g *group) last() (uint64, error) {
	leave, err := g.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	var applied C.uint64_t
	var out C.holm_bytes
	_, err = checked(C.holm_group_applied(g.handle, &applied, &out), out)
	return uint64(applied), err
}

// status returns the index of the last entry that has taken effect, the hash over all changes, and the number of keys.
// It waits for nothing.
func (g *group) status() (applied, hash, keys uint64, err error) {
	leave, err := g.enter()
	if err != nil {
		return 0, 0, 0, err
	}
	defer leave()
	var found [3]C.uint64_t
	var out C.holm_bytes
	_, err = checked(C.holm_group_status(g.handle, &found[0], &found[1], &found[2], &out), out)
	return uint64(found[0]), uint64(found[1]), uint64(found[2]), err
}

// owns returns whether the group answers for a slot, by its own record.
func (g *group) owns(slot int) bool {
	leave, err := g.enter()
	if err != nil {
		return false
	}
	defer leave()
	return C.holm_group_owns(g.handle, C.uint16_t(slot)) == 1
}

// mark returns the last mark that the group has passed, and its hash, as an entry that compares carries them.
func (g *group) mark() (mark uint64, payload []byte, err error) {
	leave, err := g.enter()
	if err != nil {
		return 0, nil, err
	}
	defer leave()
	var found [2]C.uint64_t
	var out C.holm_bytes
	_, err = checked(C.holm_group_mark(g.handle, &found[0], &found[1], &out), out)
	payload = binary.LittleEndian.AppendUint64(nil, uint64(found[0]))
	return uint64(found[0]), binary.LittleEndian.AppendUint64(payload, uint64(found[1])), err
}

func (g *group) view() (*view, error) {
	leave, err := g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var taken view
	var out C.holm_bytes
	_, err = checked(C.holm_group_view(g.handle, &taken.handle, &out), out)
	return &taken, err
}

// next returns the next frame, and io.EOF after the last one.
func (v *view) next() ([]byte, error) {
	var out C.holm_bytes
	code := C.holm_view_next(v.handle, &out)
	frame, err := checked(code, out)
	if err == nil && code == C.HOLM_NODE_END {
		return nil, io.EOF
	}
	return frame, err
}

// describe returns what the view is of.
func (v *view) describe() (viewStatus, error) {
	var found C.holm_view_status
	var out C.holm_bytes
	_, err := checked(C.holm_view_describe(v.handle, &found, &out), out)
	return viewStatus{Entry: uint64(found.applied), Keys: uint64(found.keys), Backup: uint64(found.backup),
		IsSettled: found.settled == 1}, err
}

func (v *view) close() {
	if v.handle != nil {
		C.holm_view_close(v.handle)
		v.handle = nil
	}
}

func (g *group) restore() (*restore, error) {
	leave, err := g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var begun restore
	var out C.holm_bytes
	_, err = checked(C.holm_restore_begin(g.handle, &begun.handle, &out), out)
	return &begun, err
}

func (r *restore) frame(frame []byte) error {
	var out C.holm_bytes
	_, err := checked(C.holm_restore_frame(r.handle, pointer(frame), C.size_t(len(frame)), &out), out)
	return err
}

// finish exchanges the group for what was restored, durably. The restore has ended then.
func (r *restore) finish() error {
	var applied C.uint64_t
	var out C.holm_bytes
	_, err := checked(C.holm_restore_finish(r.handle, &applied, &out), out)
	r.handle = nil
	return err
}

// drop leaves the group as it was, unless finish was called.
func (r *restore) drop() {
	if r.handle != nil {
		C.holm_restore_drop(r.handle)
		r.handle = nil
	}
}

// What a front does with a command.
const (
	routeEmpty      = C.HOLM_ROUTE_EMPTY
	routeKeyed      = C.HOLM_ROUTE_KEYED
	routeCross      = C.HOLM_ROUTE_CROSS
	routeEverywhere = C.HOLM_ROUTE_EVERYWHERE
	routeFront      = C.HOLM_ROUTE_FRONT
	routeRefused    = C.HOLM_ROUTE_REFUSED
	routeAnywhere   = C.HOLM_ROUTE_ANYWHERE
)

// route is where a command lies in what a client has sent, and where it belongs.
type route struct {
	request []byte
	kind    int
	slot    int
	writes  bool
}

// The most commands that are looked at together.
const mostRoutes = 1024

// What is found lies in tables that are used again: one of its own for each call takes a tenth of a node's time.
var routeTables = sync.Pool{New: func() any { return new([mostRoutes]C.holm_route) }}

// parse finds the whole commands at the beginning of input, and how many bytes they take.
func parse(input []byte, known bool, level uint8, routes []route) ([]route, int, error) {
	found := routeTables.Get().(*[mostRoutes]C.holm_route)
	defer routeTables.Put(found)
	var count C.size_t
	var out C.holm_bytes
	code := C.holm_parse(pointer(input), C.size_t(len(input)), C.int(switched(known)), C.uint8_t(level), &found[0],
		mostRoutes, &count, &out)
	if message, err := checked(code, out); err != nil {
		_ = message
		if code == C.HOLM_NODE_PROTOCOL {
			return nil, 0, errors.New("ERR Protocol error" + err.Error()[len("holm"):])
		}
		return nil, 0, err
	}
	used := 0
	for _, one := range found[:count] {
		used = int(one.end)
		routes = append(routes, route{
			request: input[one.start:one.end],
			kind:    int(one.kind),
			slot:    int(one.slot),
			writes:  one.writes != 0,
		})
	}
	return routes, used, nil
}

// refusal returns the error reply to a request that is refused before it is carried out or queued.
func refusal(request []byte, level uint8) []byte {
	var out C.holm_bytes
	reply, err := checked(C.holm_refusal(pointer(request), C.size_t(len(request)), C.uint8_t(level), &out), out)
	if err != nil {
		return appendError(nil, "ERR "+err.Error())
	}
	return reply
}

// checkEntry returns an error unless replicas that know a level can read an entry.
func checkEntry(entry []byte, level uint8) error {
	var out C.holm_bytes
	if _, err := checked(C.holm_entry_check(pointer(entry), C.size_t(len(entry)), C.uint8_t(level), &out), out); err != nil {
		return fmt.Errorf("%w: %w", errNoEntry, err)
	}
	return nil
}

func slotOf(key []byte) int { return int(C.holm_slot(pointer(key), C.size_t(len(key)))) }

// describe answers COMMAND, and HELP.
func describe(request []byte, protocol int) ([]byte, error) {
	var out C.holm_bytes
	return checked(C.holm_describe(pointer(request), C.size_t(len(request)), C.int(protocol), &out), out)
}
