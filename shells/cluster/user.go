// What a user may do, which is Rust, behind the calls of holm_node.h.

package main

/*
#include "holm_node.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// user is what a user may do between two changes.
type user struct {
	handle *C.holm_user
	// It may do everything.
	mayDoAll bool
	// It needs no password.
	isOpen bool
}

// openUser makes a user of its rules. It is closed once nothing has it any more.
func openUser(rules []byte) (*user, error) {
	var opened user
	var status C.holm_user_status
	var out C.holm_bytes
	code := C.holm_user_open(pointer(rules), C.size_t(len(rules)), &opened.handle, &status, &out)
	if _, err := checked(code, out); err != nil {
		return nil, err
	}
	opened.mayDoAll, opened.isOpen = status.may_do_all == 1, status.open == 1
	runtime.AddCleanup(&opened, func(handle *C.holm_user) { C.holm_user_close(handle) }, opened.handle)
	return &opened, nil
}

// accepts returns whether a password is right.
func (u *user) accepts(password string) bool {
	defer runtime.KeepAlive(u)
	given := (*C.uint8_t)(unsafe.Pointer(unsafe.StringData(password)))
	return C.holm_user_accepts(u.handle, given, C.size_t(len(password))) == 1
}

// refusal returns the reply to a command that the user may not carry out; nothing if it may.
func (u *user) refusal(request []byte) []byte {
	defer runtime.KeepAlive(u)
	var out C.holm_bytes
	code := C.holm_user_check(u.handle, pointer(request), C.size_t(len(request)), &out)
	said, err := checked(code, out)
	if err != nil {
		return appendError(nil, coded(err))
	}
	if code == C.HOLM_NODE_REFUSED {
		return said
	}
	return nil
}

// changeUser returns the rules that a user has after ACL SETUSER; a new one had none.
func changeUser(rules, request []byte) ([]byte, error) {
	var out C.holm_bytes
	code := C.holm_user_change(pointer(rules), C.size_t(len(rules)), pointer(request), C.size_t(len(request)), &out)
	changed, err := checked(code, out)
	if err == nil && code == C.HOLM_NODE_REFUSED {
		return nil, errors.New(string(changed))
	}
	return changed, err
}

// answerACL answers what ACL says about a user, or about rules; nil: there is no such user.
func answerACL(about *user, request []byte, protocol int) ([]byte, error) {
	defer runtime.KeepAlive(about)
	var handle *C.holm_user
	if about != nil {
		handle = about.handle
	}
	var out C.holm_bytes
	return checked(C.holm_acl(handle, pointer(request), C.size_t(len(request)), C.int(protocol), &out), out)
}
