package cgroup

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
)

const (
	// systemd allows no processes in a cgroup that has children.
	workerLeaf = "worker"
	prefix     = "program-"

	memory, cpu, pids = "memory", "cpu", "pids"
)

// Tree creates a cgroup for each program, if the process has the permission.
type Tree struct {
	once sync.Once
	// base is the parent directory; empty if cgroups cannot be created.
	base        string
	controllers []string
}

func (t *Tree) open() {
	t.once.Do(func() {
		t.base = delegated()
		if t.base == "" {
			return
		}
		switches := path.Join(t.base, "cgroup.subtree_control")
		for _, name := range []string{memory, cpu, pids} {
			_ = os.WriteFile(switches, []byte("+"+name), 0) // The list below leaves out a refused controller.
		}
		text, _ := os.ReadFile(switches)
		t.controllers = strings.Fields(string(text))
	})
}

// Rest returns the limits that a cgroup of the tree does not enforce.
func (t *Tree) Rest(limits rlimit.Limits) rlimit.Limits {
	t.open()
	if slices.Contains(t.controllers, memory) {
		limits.Memory = 0
	}
	if slices.Contains(t.controllers, pids) {
		limits.PIDs = 0
	}
	if slices.Contains(t.controllers, cpu) {
		limits.CPU.Cores = 0
	}
	return limits
}

// Create returns the directory of a new cgroup, or "" without a tree. The error names a limit that could not be set.
func (t *Tree) Create(name string, limits rlimit.Limits) (string, error) {
	t.open()
	if t.base == "" {
		return "", nil
	}
	directory := path.Join(t.base, prefix+name)
	if err := os.Mkdir(directory, 0o755); err != nil { //nolint:gosec // all users may read cgroups
		if t.Rest(limits) != limits {
			return "", fmt.Errorf("limits: %w", err)
		}
		return "", nil
	}
	if err := t.bound(directory, limits); err != nil {
		Remove(directory)
		return "", err
	}
	return directory, nil
}

func (t *Tree) bound(directory string, limits rlimit.Limits) error {
	rest := t.Rest(limits)
	write := func(key, file, value string) error {
		if err := os.WriteFile(path.Join(directory, file), []byte(value), 0); err != nil {
			return fmt.Errorf("limits.%s: %w", key, err)
		}
		return nil
	}
	if limits.Memory != rest.Memory {
		// Kernels without swap lack the first file, old kernels the second.
		_, _ = write("memory", "memory.swap.max", "0"), write("memory", "memory.oom.group", "1")
		if err := write("memory", "memory.max", strconv.FormatInt(int64(limits.Memory), 10)); err != nil {
			return err
		}
	}
	if limits.PIDs != rest.PIDs {
		if err := write("pids", "pids.max", strconv.Itoa(limits.PIDs)); err != nil {
			return err
		}
	}
	if limits.CPU.Cores != rest.CPU.Cores {
		const period = 100_000 // microseconds
		return write("cpu", "cpu.max", fmt.Sprintf("%d %d", int64(limits.CPU.Cores*period), period))
	}
	return nil
}

// delegated also moves the process into a leaf of the cgroup.
func delegated() string {
	mount, own := cgroupMount(), ownCgroup()
	if mount == "" || own == "" {
		return ""
	}
	base := path.Join(mount, own)
	if path.Base(base) == workerLeaf && own != "/" {
		base = path.Dir(base)
	}
	if !mayDivide(base) {
		return ""
	}
	if base == mount {
		return base // The root may have both processes and children.
	}
	leaf := path.Join(base, workerLeaf)
	_ = os.Mkdir(leaf, 0o755) //nolint:gosec // all users may read cgroups
	if os.WriteFile(path.Join(leaf, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0) != nil {
		return ""
	}
	return base
}

// mayDivide: see https://systemd.io/CGROUP_DELEGATION.
func mayDivide(base string) bool {
	if unix.Access(base, unix.W_OK) != nil || unix.Access(path.Join(base, "cgroup.procs"), unix.W_OK) != nil {
		return false
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return true
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(base, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

func cgroupMount() string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		place, kind, found := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		// Field 4 is the root of the mount. A root other than "/" is a part of the tree.
		if found && strings.HasPrefix(kind, "cgroup2 ") && len(fields) > 4 && fields[3] == "/" {
			return fields[4]
		}
	}
	return ""
}

func ownCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if own, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found && !strings.HasPrefix(own, "/..") {
			return own
		}
	}
	return ""
}

// Kill kills all processes of a cgroup, of all users. Kernels before 5.14 do not support it.
func Kill(directory string) {
	if directory != "" {
		_ = os.WriteFile(path.Join(directory, "cgroup.kill"), []byte("1"), 0)
	}
}

// Members returns the process ids of a cgroup and its children.
func Members(directory string) []int {
	if directory == "" {
		return nil
	}
	var members []int
	text, _ := os.ReadFile(path.Join(directory, "cgroup.procs")) // A cgroup that has ended meanwhile has no members.
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			members = append(members, pid)
		}
	}
	for _, child := range children(directory) {
		members = append(members, Members(child)...)
	}
	return members
}

// Remove removes an empty cgroup and its children.
func Remove(directory string) {
	if directory == "" {
		return
	}
	for _, child := range children(directory) {
		Remove(child)
	}
	_ = os.Remove(directory)
}

func children(directory string) []string {
	entries, _ := os.ReadDir(directory)
	var found []string
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, path.Join(directory, entry.Name()))
		}
	}
	return found
}
