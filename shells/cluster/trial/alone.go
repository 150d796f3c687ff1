package trial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// The variables by which a program that runs again knows its folder, and that it has namespaces.
const (
	folderVariable = "HOLM_TRIAL_FOLDER"
	aloneVariable  = "HOLM_TRIAL_ALONE"
)

// lockFile is locked while the program runs that has made the folder.
const lockFile = "lock"

// Alone runs this program again, with a folder for temporary files whose name begins with a prefix, and exits as that
// ends. There it returns the folder, and whether the program has its own namespaces of mounts, networks and processes:
// these take privileges. The kernel removes namespaces with all that is in them once the program ends, however it ends.
// The folder is removed too, and what other calls with the prefix have left that were killed.
func Alone(prefix string) (folder string, isAlone bool, err error) {
	if os.Getenv(unsyncedVariable) != "" {
		return "", false, execUnsynced()
	}
	if folder = os.Getenv(folderVariable); folder != "" {
		isAlone = os.Getenv(aloneVariable) != ""
		if isAlone {
			err = enter()
		}
		return folder, isAlone, err
	}
	removeLeftovers(prefix)
	if folder, err = lockedFolder(prefix); err != nil {
		return "", false, err
	}
	code, err := runAgain(folder)
	if removed := os.RemoveAll(folder); err != nil || removed != nil {
		return "", false, errors.Join(err, removed)
	}
	os.Exit(code)
	return "", false, nil
}

// lockedFolder makes a folder with a locked file. The file gets its name with its lock.
func lockedFolder(prefix string) (string, error) {
	folder, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	name := filepath.Join(folder, lockFile)
	// It stays open until this process ends.
	file, err := syscall.Open(name+".new", syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return "", err
	}
	return folder, errors.Join(syscall.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB), os.Rename(name+".new", name))
}

// removeLeftovers removes the folders of programs that have ended without removing them.
func removeLeftovers(prefix string) {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*", lockFile))
	for _, name := range found {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if err := os.RemoveAll(filepath.Dir(name)); err != nil {
				fmt.Fprintln(os.Stderr, "a trial that was cut short has left this:", err)
			}
		}
		file.Close()
	}
}

// runAgain runs this program once more, and returns its exit status. A signal to end kills it with all its processes.
func runAgain(folder string) (int, error) {
	// The program dies with the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stop := make(chan os.Signal, 1)
	for _, one := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(one) {
			signal.Notify(stop, one)
		}
	}
	again, err := begin(folder, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET|syscall.CLONE_NEWPID)
	if errors.Is(err, syscall.EPERM) {
		again, err = begin(folder, 0)
	}
	if err != nil {
		return 0, err
	}
	go func() {
		<-stop
		_ = syscall.Kill(-again.Process.Pid, syscall.SIGKILL)
	}()
	err = again.Wait()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return 0, err
	}
	if code := again.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	// A signal has ended it.
	return 130, nil
}

func begin(folder string, namespaces uintptr) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	again := exec.Command(program, os.Args[1:]...)
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	again.Env = append(os.Environ(), folderVariable+"="+folder)
	if namespaces != 0 {
		again.Env = append(again.Env, aloneVariable+"=1")
	}
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return again, again.Start()
}

// enter makes new namespaces fit for use: no mount goes out of them, and processes and networks are those in them. The
// mounts of nodes follow those of this program: a file system that is removed here is removed there.
func enter() error {
	const networks = "/run/netns"
	for _, kind := range []uintptr{syscall.MS_PRIVATE, syscall.MS_SHARED} {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|kind, ""); err != nil {
			return fmt.Errorf("mounts of its own: %w", err)
		}
	}
	if err := os.MkdirAll(networks, 0o755); err != nil {
		return err
	}
	return errors.Join(syscall.Mount("proc", "/proc", "proc", 0, ""), syscall.Mount("none", networks, "tmpfs", 0, ""),
		ip("link", "set", "lo", "up"))
}
