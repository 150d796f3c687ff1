package trial

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// fileSteps are the calls to the kernel by which a program changes files: between two of them it may be cut short.
var fileSteps = []uint64{syscall.SYS_MKDIRAT, syscall.SYS_OPENAT, syscall.SYS_WRITE, syscall.SYS_FSYNC,
	syscall.SYS_FDATASYNC, syscall.SYS_CLOSE, syscall.SYS_RENAMEAT}

// What the package syscall does not have: requests and options of linux/ptrace.h, and options of linux/wait.h.
const (
	traceCallInfo   = 0x420e
	traceCallsApart = 1
	traceThreads    = 8
	traceToTheEnd   = 1 << 20
	waitForThreads  = 0x4000_0000
	waitForOwn      = 0x2000_0000
)

// callInfo is what the kernel says of a call: ptrace_syscall_info.
type callInfo struct {
	// 1: the call has not begun.
	operation           uint64
	instruction, stack  uint64
	number              uint64
	arguments, reserved [6]uint64
}

// cutShort runs a command, and kills it before its n-th step; it returns whether it has ended by itself before.
func cutShort(log *os.File, n int, words ...string) (bool, error) {
	// A command is traced by the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started, _, err := syscall.StartProcess(words[0], words, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return false, err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(started, &status, 0, nil); err != nil {
		return false, err
	}
	if err := syscall.PtraceSetOptions(started, traceCallsApart|traceThreads|traceToTheEnd); err != nil {
		return false, err
	}
	steps, isCut, thread, signal := 0, false, started, 0
	for {
		// A thread may be gone that was just killed.
		if err := syscall.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, err
		}
		for {
			if thread, err = syscall.Wait4(-1, &status, waitForThreads|waitForOwn, nil); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		signal = 0
		switch {
		case err != nil:
			return false, err
		case thread == started && (status.Exited() || status.Signaled()):
			if !isCut && status.ExitStatus() != 0 {
				return false, fmt.Errorf("%q ends with status %d", words, status.ExitStatus())
			}
			return !isCut, nil
		case !status.Stopped(), isCut:
		case status.StopSignal() == syscall.SIGTRAP|0x80:
			var info callInfo
			_, _, failed := syscall.RawSyscall6(syscall.SYS_PTRACE, traceCallInfo, uintptr(thread), unsafe.Sizeof(info),
				uintptr(unsafe.Pointer(&info)), 0, 0)
			if failed != 0 {
				return false, failed
			}
			if info.operation&0xff == 1 && slices.Contains(fileSteps, info.number) {
				if steps++; steps == n {
					isCut = true
					if err := syscall.Kill(started, syscall.SIGKILL); err != nil {
						return false, err
					}
				}
			}
		case status.StopSignal() != syscall.SIGTRAP && status.StopSignal() != syscall.SIGSTOP:
			signal = int(status.StopSignal())
		}
	}
}
