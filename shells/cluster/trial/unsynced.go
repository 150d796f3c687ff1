package trial

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// unsyncedVariable is there for a program that is to run a node whose syncs do nothing.
const unsyncedVariable = "HOLM_TRIAL_UNSYNCED"

// unsynced returns the words that run a command, all of whose syncs do nothing and succeed: a bug that a loss of power
// shows. The kernel answers them so, by a filter that the command inherits.
func unsynced(words []string) ([]string, error) {
	program, err := os.Executable()
	return append([]string{"env", unsyncedVariable + "=1", program}, words...), err
}

// Instructions of the kernel's filters, and what they return: the constants of linux/bpf_common.h and linux/seccomp.h.
const (
	loadNumber   = 0x20
	jumpIfEqual  = 0x15
	returnAnswer = 0x06
	answerZero   = 0x00050000
	answerAllow  = 0x7fff0000
)

// execUnsynced replaces this program by the command of its arguments, without syncs.
func execUnsynced() error {
	filter := []syscall.SockFilter{
		{Code: loadNumber},
		{Code: jumpIfEqual, Jt: 3, K: syscall.SYS_FSYNC},
		{Code: jumpIfEqual, Jt: 2, K: syscall.SYS_FDATASYNC},
		{Code: jumpIfEqual, Jt: 1, K: syscall.SYS_MSYNC},
		{Code: returnAnswer, K: answerAllow},
		{Code: returnAnswer, K: answerZero},
	}
	given := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// The filter is that of a thread, and of the program that the thread becomes.
	runtime.LockOSThread()
	const noNewPrivileges, setFilter, filterMode = 38, 22, 2
	if _, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, noNewPrivileges, 1, 0); failed != 0 {
		return fmt.Errorf("no new privileges: %w", failed)
	}
	address := uintptr(unsafe.Pointer(&given))
	if _, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, setFilter, filterMode, address); failed != 0 {
		return fmt.Errorf("a filter of calls to the kernel: %w", failed)
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}
