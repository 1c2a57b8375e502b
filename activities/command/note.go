package command

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/activities/command/processes"
	"github.com/roundsman/roundsman/internal/lib/cgroup"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

type owner struct {
	// Job names the job within its run; empty for a detection.
	Job string `json:"job,omitempty"`
	// Key names the work in every run; empty if it has no name.
	Key string `json:"key,omitempty"`
	// Attempt is the job's.
	Attempt int `json:"attempt,omitempty"`
}

type identity struct {
	PID int `json:"pid"`
	// Start is in clock ticks since boot.
	Start uint64 `json:"start"`
}

type note struct {
	// Mark is the value of markVariable, unique to this start.
	Mark string `json:"mark"`
	// Boot names the start of the machine. PID and Start are those of the shim if Shim is set, else of the group's
	// leader; 0 until started.
	Boot  string `json:"boot"`
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"`
	Shim  bool   `json:"shim,omitempty"`
	// Cgroup is the directory of the program's cgroup; empty: it has none.
	Cgroup string `json:"cgroup,omitempty"`
	// Seen are the processes of the program when they were looked at last.
	Seen []identity `json:"seen,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL.
	Grace   time.Duration `json:"grace"`
	Program string        `json:"program"`
	Owner   owner         `json:"owner"`

	path   string
	ledger *ledger

	// left marks a program that nothing waits for; hooks marks hooks without their attempt.
	left, hooks atomic.Bool
	// owed describes the state of hooks of an earlier process of the worker.
	owed string

	mu     sync.Mutex
	struck bool
}

// A file that cannot be written is no reason not to run the program.
func (n *note) write() {
	if n.path == "" || n.struck {
		return
	}
	encoded, err := json.Marshal(n)
	if err == nil && os.WriteFile(n.path+newSuffix, encoded, 0o600) == nil {
		_ = os.Rename(n.path+newSuffix, n.path)
	}
}

func (n *note) variable() string { return markVariable + "=" + n.Mark }

func (n *note) starting() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.write()
}

func (n *note) started(pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process(pid)
}

func (n *note) shimmed(pid int, group string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Shim, n.Cgroup = true, group
	n.process(pid)
}

func (n *note) process(pid int) {
	if p, ok := processes.Read(pid); ok {
		n.PID, n.Start = pid, p.Start
		n.write()
	}
}

// nearby returns the processes below the shim and below the noted ones: a running program has no others, because the
// shim is a child subreaper. It returns false if only the process table is enough.
func (n *note) nearby() ([]processes.Process, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.left.Load(): // Its processes may be known by their mark only.
		return nil, false
	case n.PID == 0:
		return nil, true
	case !n.Shim:
		return nil, false
	}
	roots := append(cgroup.Members(n.Cgroup), n.PID)
	for _, one := range n.Seen {
		roots = append(roots, one.PID)
	}
	return processes.Offspring(roots)
}

func (n *note) observe(table []processes.Process) {
	living, _ := n.living(table)
	seen := lists.Map(living, func(p processes.Process) identity { return identity{p.PID, p.Start} })
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(seen, n.Seen) {
		n.Seen = seen
		n.write()
	}
}

func (n *note) abandon() { n.left.Store(true) }

// outlast: the hooks continue without their attempt, and all that does the same work waits for them.
func (n *note) outlast() { n.hooks.Store(true) }

// precedes reports whether next may start only after the end of this program: for another attempt of the same job, or
// the same work of any run.
func (n *note) precedes(next owner) bool {
	if n.Owner.Job != "" && n.Owner.Job == next.Job {
		return true
	}
	return n.Owner.Key != "" && n.Owner.Key == next.Key && (n.hooks.Load() || n.left.Load())
}

func (n *note) strike() {
	n.ledger.remove(n)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.struck = true
	cgroup.Remove(n.Cgroup)
	if n.path != "" {
		_ = os.Remove(n.path)
	}
}

// living returns the processes of the program, and whether its shim lives. A process counts only with proof: its
// start is noted, it carries the mark, is in the cgroup or the group, or descends from one of these.
func (n *note) living(table []processes.Process) (found []processes.Process, supervised bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	group := 0
	seen := make(map[identity]bool, len(n.Seen)+1)
	for _, one := range n.Seen {
		seen[one] = true
	}
	for _, pid := range cgroup.Members(n.Cgroup) {
		if p, ok := processes.Read(pid); ok {
			seen[identity{pid, p.Start}] = true
		}
	}
	if n.Shim {
		seen[identity{n.PID, n.Start}] = true
	} else {
		group = n.group(table)
	}
	self := os.Getpid()
	all := processes.Closure(table, func(p processes.Process) bool {
		return seen[identity{p.PID, p.Start}] || group > 1 && p.Group == group || n.left.Load() && processes.Marked(p.PID, n.variable(), 0)
	})
	for _, p := range all {
		switch {
		case p.Zombie, p.PID == self, p.PID <= 1:
		case n.Shim && p.PID == n.PID && p.Start == n.Start:
			supervised = true
		default:
			found = append(found, p)
		}
	}
	return found, supervised
}

const loading = 50 * time.Millisecond

// group is the process group of a program without a shim, 0 if ended. It counts only with proof: its leader started
// at the noted time, or a member carries the mark.
func (n *note) group(table []processes.Process) int {
	for _, p := range table {
		if n.PID != 0 && p.Group == n.PID && !p.Zombie && (p.PID == n.PID && p.Start == n.Start || processes.Marked(p.PID, n.variable(), loading)) {
			return n.PID
		}
	}
	return 0
}

func (n *note) terminate(living []processes.Process) {
	for _, p := range living {
		p.Signal(syscall.SIGTERM)
	}
}

func (n *note) kill(living []processes.Process) {
	cgroup.Kill(n.Cgroup)
	for _, p := range living {
		p.Signal(syscall.SIGKILL)
	}
}

func (n *note) endNow() bool {
	n.abandon()
	for begun := time.Now(); time.Since(begun) < reapGrace; time.Sleep(endPoll) {
		table, err := processes.Table()
		if err != nil {
			return false
		}
		living, _ := n.living(table)
		if len(living) == 0 {
			return true
		}
		n.kill(living)
	}
	return false
}

func pidsOf(table []processes.Process) string {
	if len(table) == 0 {
		return "a process that cannot be seen"
	}
	const shown = 5
	words := lists.Map(table[:min(len(table), shown)], func(p processes.Process) string { return strconv.Itoa(p.PID) })
	if more := len(table) - shown; more > 0 {
		words = append(words, "and "+strconv.Itoa(more)+" more")
	}
	if len(table) == 1 {
		return "process " + words[0]
	}
	return "processes " + strings.Join(words, ", ")
}
