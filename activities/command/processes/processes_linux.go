package processes

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Table returns all processes.
func Table() ([]Process, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	_ = proc.Close()
	if err != nil {
		return nil, err
	}
	table := make([]Process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if one, ok := Read(pid); ok {
			table = append(table, one)
		}
	}
	return table, nil
}

// Offspring returns roots and their descendants by process id. The cost does not depend on other processes. The kernel
// may leave a new process out while another one ends; the next call has it. It returns false if the kernel lists no children.
func Offspring(roots []int) ([]Process, bool) {
	if _, err := os.Lstat("/proc/thread-self/children"); err != nil {
		return nil, false
	}
	var table []Process
	known := map[int]bool{}
	for todo := slices.Clone(roots); len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if known[pid] {
			continue
		}
		known[pid] = true
		if one, ok := Read(pid); ok {
			table, todo = append(table, one), append(todo, childrenOf(pid)...)
		}
	}
	slices.SortFunc(table, func(a, b Process) int { return a.PID - b.PID })
	return table, true
}

// childrenOf reads the children of each thread.
func childrenOf(pid int) (children []int) {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.Open(folder)
	if err != nil {
		return nil
	}
	names, _ := tasks.Readdirnames(-1) // The process may end meanwhile.
	_ = tasks.Close()
	for _, name := range names {
		text, _ := os.ReadFile(folder + "/" + name + "/children") // So may the thread.
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// Fields of /proc/PID/stat after the name, counted from 0; see proc_pid_stat(5).
const (
	statState  = 0
	statParent = 1
	statGroup  = 2
	statUser   = 11
	statSystem = 12
	statStart  = 19
)

// Read returns false for a process that is gone.
func Read(pid int) (Process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	// The name may hold blanks and parentheses; its end is the last one.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statStart {
		return Process{}, false
	}
	number := func(field int) uint64 {
		value, _ := strconv.ParseUint(fields[field], 10, 64)
		return value
	}
	return Process{
		PID: pid, Parent: int(number(statParent)), Group: int(number(statGroup)), Start: number(statStart), //nolint:gosec // process ids are small
		Ticks: number(statUser) + number(statSystem), Zombie: fields[statState] == "Z" || fields[statState] == "X",
	}, true
}

// Signal does nothing if the process is gone. Go's handle is a pidfd, which cannot change hands between the check and the signal.
func (p Process) Signal(signal syscall.Signal) {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if now, ok := Read(p.PID); ok && now.Start == p.Start {
		_ = handle.Signal(signal)
	}
}

// Transferred counts files, pipes and sockets alike; 0 if unreadable.
func Transferred(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	var sum uint64
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "rchar" || name == "wchar" {
			bytes, _ := strconv.ParseUint(value, 10, 64)
			sum += bytes
		}
	}
	return sum
}

// Marked reads again for as long as patience: a process that is loading a program has no environment for a moment.
func Marked(pid int, variable string, patience time.Duration) bool {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return false
		}
		if len(environment) > 0 || time.Since(begun) >= patience {
			return bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+variable+"\x00"))
		}
	}
}

// BootID changes with every start of the machine.
func BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}
