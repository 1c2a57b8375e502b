package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// workerLeaf is the cgroup into which a worker moves itself: systemd allows no
	// processes in a cgroup that has others below it.
	workerLeaf = "worker"
	// cgroupPrefix begins the names of the cgroups of programs.
	cgroupPrefix = "program-"
)

// cgroups makes a cgroup for each program, if the process may.
type cgroups struct {
	once sync.Once
	// base is the directory below which they are; empty: there are none.
	base string
}

// create returns the directory of a new cgroup, "" if there can be none.
func (c *cgroups) create(name string) string {
	c.once.Do(func() { c.base = delegated() })
	if c.base == "" {
		return ""
	}
	directory := filepath.Join(c.base, cgroupPrefix+name)
	if os.Mkdir(directory, 0o755) != nil { //nolint:gosec // cgroups are readable for everybody
		return ""
	}
	return directory
}

// delegated returns the directory of the cgroup that was given to this process to
// divide, after moving the process into a leaf of it.
func delegated() string {
	mount, own := cgroupMount(), ownCgroup()
	if mount == "" || own == "" {
		return ""
	}
	base := filepath.Join(mount, own)
	if filepath.Base(base) == workerLeaf && own != "/" {
		base = filepath.Dir(base)
	}
	if !mayDivide(base) {
		return ""
	}
	if base == mount {
		return base // The root may have both processes and cgroups below it.
	}
	leaf := filepath.Join(base, workerLeaf)
	_ = os.Mkdir(leaf, 0o755) //nolint:gosec // cgroups are readable for everybody
	if os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0) != nil {
		return ""
	}
	return base
}

// mayDivide reports whether systemd has delegated the cgroup, or there is no systemd
// to whom it belongs. See https://systemd.io/CGROUP_DELEGATION.
func mayDivide(base string) bool {
	if unix.Access(base, unix.W_OK) != nil || unix.Access(filepath.Join(base, "cgroup.procs"), unix.W_OK) != nil {
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

// cgroupMount returns where cgroup v2 is mounted, "" if it is not.
func cgroupMount() string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		place, kind, found := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		// Field 4 is the root of the mount: another one than "/" shows a part of the tree.
		if found && strings.HasPrefix(kind, "cgroup2 ") && len(fields) > 4 && fields[3] == "/" {
			return fields[4]
		}
	}
	return ""
}

// ownCgroup returns the path of the process's cgroup below the mount.
func ownCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if path, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found && !strings.HasPrefix(path, "/..") {
			return path
		}
	}
	return ""
}

// killCgroup kills all processes of a cgroup, whatever their user. Kernels before 5.14
// cannot.
func killCgroup(directory string) {
	if directory != "" {
		_ = os.WriteFile(filepath.Join(directory, "cgroup.kill"), []byte("1"), 0)
	}
}

// membersOf returns the process ids of a cgroup and those below it.
func membersOf(directory string) []int {
	if directory == "" {
		return nil
	}
	var members []int
	_ = filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "cgroup.procs" {
			return nil //nolint:nilerr // a cgroup that has ended meanwhile has no members
		}
		text, _ := os.ReadFile(path)
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				members = append(members, pid)
			}
		}
		return nil
	})
	return members
}
