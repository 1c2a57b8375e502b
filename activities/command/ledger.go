package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// markVariable is in the environment of every program whose group is noted.
const markVariable = "ROUNDSMAN_PROCESS_MARK"

// errNoProcessTable: there is a process table to read on Linux only.
var errNoProcessTable = errors.New("the process table is read on Linux only")

const noteSuffix = ".group.json"

// ledger notes the process groups of running programs in a directory that
// survives the worker's process, so that the next one can end what a killed one
// left running. A nil ledger notes nothing.
//
// Nothing is synced: what a crash of the machine loses needs no ending.
type ledger struct{ dir, boot string }

// note is what the ledger keeps of one program.
type note struct {
	// Mark is the value of markVariable, unique to this start.
	Mark string `json:"mark"`
	// Boot names the start of the machine, PID the group's leader and Start when it
	// started, in clock ticks since then; PID is 0 until the program has started.
	Boot  string `json:"boot"`
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL.
	Grace   time.Duration `json:"grace"`
	Program string        `json:"program"`

	path string
}

// openLedger uses dir, creating it if needed. Where there is no process table the
// ledger is nil.
func openLedger(dir string) (*ledger, error) {
	boot, err := bootID()
	if errors.Is(err, errNoProcessTable) {
		return nil, nil
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("notes of running programs: %w", err)
	}
	return &ledger{dir: dir, boot: boot}, nil
}

// enter notes a program that is about to start. A note that cannot be written is
// no reason not to run the program.
func (l *ledger) enter(program string, grace time.Duration) *note {
	if l == nil {
		return nil
	}
	raw := make([]byte, 12)
	_, _ = rand.Read(raw) // It never fails.
	n := &note{Mark: hex.EncodeToString(raw), Boot: l.boot, Grace: grace, Program: program}
	n.path = filepath.Join(l.dir, n.Mark+noteSuffix)
	n.write()
	return n
}

func (n *note) write() {
	encoded, err := json.Marshal(n)
	if err != nil {
		return
	}
	if os.WriteFile(n.path+".new", encoded, 0o600) == nil {
		_ = os.Rename(n.path+".new", n.path)
	}
}

// variable is what the program's environment must hold.
func (n *note) variable() string { return markVariable + "=" + n.Mark }

// started notes the leader.
func (n *note) started(pid int) {
	if n == nil {
		return
	}
	if leader, ok := readProcess(pid); ok {
		n.PID, n.Start = pid, leader.start
		n.write()
	}
}

// strike forgets the program: its group has ended.
func (n *note) strike() {
	if n != nil {
		_ = os.Remove(n.path)
	}
}

// notes returns what is noted. A file that cannot be read is removed.
func (l *ledger) notes() ([]*note, error) {
	paths, err := filepath.Glob(filepath.Join(l.dir, "*"+noteSuffix+"*"))
	if err != nil {
		return nil, err
	}
	var list []*note
	for _, path := range paths {
		n := &note{path: path}
		encoded, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(path, noteSuffix) || json.Unmarshal(encoded, n) != nil || n.Boot != l.boot {
			_ = os.Remove(path)
			continue
		}
		list = append(list, n)
	}
	return list, nil
}

// group is the process group that the note is about, 0 if nothing of it runs. A
// group counts only if it is proved to be the program's: its leader started when
// the note says, or a member carries the mark.
func (n *note) group(table []process) int {
	if n.PID == 0 {
		// Killed between the note and the start: the mark finds the leader.
		var first process
		for _, p := range table {
			if !p.zombie && marked(p.pid, n.variable(), 0) && (first.pid == 0 || p.start < first.start) {
				first = p
			}
		}
		return first.group
	}
	for _, p := range table {
		if p.group == n.PID && !p.zombie && (p.pid == n.PID && p.start == n.Start || marked(p.pid, n.variable(), loading)) {
			return n.PID
		}
	}
	return 0
}

// loading is how long a member of a noted group may take to load a program.
const loading = 50 * time.Millisecond

// endPoll is how often it is looked whether a group has ended.
const endPoll = 20 * time.Millisecond

// endLeftovers ends the groups that an earlier process left running, SIGTERM
// first and SIGKILL after their grace, and returns when they are gone. One that
// does not die is reported and stays noted.
func (l *ledger) endLeftovers(ctx context.Context) error {
	left, err := l.notes()
	if err != nil || len(left) == 0 {
		return err
	}
	begun, killed := time.Now(), map[string]time.Time{}
	for asked := false; ; asked = true {
		table, err := processTable()
		if err != nil {
			return err
		}
		running := left[:0]
		for _, n := range left {
			group := n.group(table)
			if group <= 1 {
				n.strike()
				continue
			}
			running = append(running, n)
			since, kill := killed[n.Mark]
			switch {
			case !asked:
				endGroup(group, false)
			case !kill && time.Since(begun) >= n.Grace:
				endGroup(group, true)
				killed[n.Mark] = time.Now()
			case kill && time.Since(since) >= reapGrace:
				return fmt.Errorf("process group %d of %s, which an earlier worker process left running: %w", group, n.Program, errNotDead)
			}
		}
		if left = running; len(left) == 0 {
			return nil
		}
		if !waitContext(ctx, endPoll) {
			return context.Cause(ctx)
		}
	}
}

func waitContext(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
