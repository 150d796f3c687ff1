// The log of what users were refused, which is Rust, behind the calls of holm_node.h. Each node has its own.

package main

/*
#include "holm_node.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// deniedLog is what ACL LOG answers from.
type deniedLog struct{ handle *C.holm_denied }

// newDeniedLog makes a log. It is closed once nothing has it any more.
func newDeniedLog() *deniedLog {
	opened := &deniedLog{handle: C.holm_denied_open()}
	runtime.AddCleanup(opened, func(handle *C.holm_denied) { C.holm_denied_close(handle) }, opened.handle)
	return opened
}

// add notes that a user was refused a request, by a client that a line describes. Nobody is refused for a password: the
// request is then what it was given with, without more words.
func (d *deniedLog) add(by *user, request []byte, inTransaction bool, name, client string) {
	defer runtime.KeepAlive(d)
	defer runtime.KeepAlive(by)
	var handle *C.holm_user
	if by != nil {
		handle = by.handle
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	about := C.holm_denied_by{name_size: C.size_t(len(name)), client_size: C.size_t(len(client)),
		in_transaction: C.uint32_t(switched(inTransaction))}
	for _, one := range []struct {
		text string
		to   **C.uint8_t
	}{{name, &about.name}, {client, &about.client}} {
		if bytes := unsafe.StringData(one.text); len(one.text) > 0 {
			pinned.Pin(bytes)
			*one.to = (*C.uint8_t)(unsafe.Pointer(bytes))
		}
	}
	var out C.holm_bytes
	code := C.holm_denied_add(d.handle, handle, pointer(request), C.size_t(len(request)), &about, &out)
	if _, err := checked(code, out); err != nil {
		fmt.Fprintln(os.Stderr, "holm-cluster: a refusal is not in the log:", err)
	}
}

// refused returns the reply to a command that an account may not carry out, and notes that; nothing if it may. A line
// describes the client.
func (h *host) refused(asking *account, request []byte, inTransaction bool, client func() string) []byte {
	reply, by := asking.refusal(request)
	if reply != nil && by != nil {
		h.denied.add(by, request, inTransaction, asking.name, client())
	}
	return reply
}

// most returns how many refusals are kept at most.
func (d *deniedLog) most() uint64 {
	defer runtime.KeepAlive(d)
	return uint64(C.holm_denied_most(d.handle))
}

// setMost sets how many refusals are kept at most.
func (d *deniedLog) setMost(most uint64) {
	defer runtime.KeepAlive(d)
	C.holm_denied_set_most(d.handle, C.size_t(most))
}

// answer answers ACL LOG.
func (d *deniedLog) answer(request []byte, protocol int) ([]byte, error) {
	defer runtime.KeepAlive(d)
	var out C.holm_bytes
	code := C.holm_denied_answer(d.handle, pointer(request), C.size_t(len(request)), C.int(protocol), &out)
	return checked(code, out)
}
