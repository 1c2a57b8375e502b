package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roundsman/roundsman/activities/command/processes"
)

// markVariable is in the environment of every noted program.
const markVariable = "ROUNDSMAN_PROCESS_MARK"

const (
	noteSuffix = ".group.json"
	newSuffix  = ".new"
)

// ledger notes running programs. With a directory the notes survive the worker's process, so the next process can end
// the programs of a killed one. It syncs nothing: a crash of the machine ends the programs too.
type ledger struct {
	dir, boot string
	table     func() ([]processes.Process, error)

	mu   sync.Mutex
	open map[string]*note // by mark
	idle context.CancelFunc
}

func newLedger() *ledger { return &ledger{table: processes.Table, open: map[string]*note{}} }

// Without a process table notes are kept in memory only.
func openLedger(dir string) (*ledger, error) {
	l := newLedger()
	boot, err := processes.BootID()
	if errors.Is(err, processes.ErrNoTable) {
		return l, nil
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("notes of running programs: %w", err)
	}
	l.dir, l.boot = dir, boot
	return l, nil
}

func (l *ledger) enter(program string, grace time.Duration, owner owner) *note {
	raw := make([]byte, 12)
	_, _ = rand.Read(raw) // It never fails.
	n := &note{Mark: hex.EncodeToString(raw), Boot: l.boot, Grace: grace, Program: program, Owner: owner, ledger: l}
	if l.dir != "" {
		n.path = filepath.Join(l.dir, n.Mark+noteSuffix)
	}
	l.add(n)
	return n
}

func (l *ledger) add(n *note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[n.Mark] = n
	if l.idle == nil && l.dir != "" {
		ctx, cancel := context.WithCancel(context.Background())
		l.idle = cancel
		go record(ctx, l.look)
	}
}

func (l *ledger) remove(n *note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, n.Mark)
	if len(l.open) == 0 && l.idle != nil {
		l.idle()
		l.idle = nil
	}
}

func (l *ledger) notes() []*note {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*note, 0, len(l.open))
	for _, n := range l.open {
		list = append(list, n)
	}
	return list
}

// Pauses between two looks at the programs. If worker and shim are killed together, a process is missed that started
// after the last look, scrubbed its environment and left its cgroup.
const (
	recordPause    = 250 * time.Millisecond
	maxRecordPause = 10 * time.Second
	// recordShare keeps the looks below a twentieth of a core.
	recordShare = 20
)

func record(ctx context.Context, look func() error) {
	for pause := recordPause; waitContext(ctx, pause); {
		begun := time.Now()
		_ = look() // Files or memory may be short for a while.
		pause = pauseAfter(time.Since(begun))
	}
}

func pauseAfter(look time.Duration) time.Duration {
	return min(max(recordPause, recordShare*look), maxRecordPause)
}

// look notes the processes of all programs. It reads the process table once at most, and only for a note that needs it.
func (l *ledger) look() error {
	var all []processes.Process
	for _, n := range l.notes() {
		table, enough := n.nearby()
		if !enough && all == nil {
			var err error
			if all, err = l.table(); err != nil {
				return err
			}
		}
		if !enough {
			table = all
		}
		n.observe(table)
	}
	return nil
}

// before returns a program that must end before one of owner may start.
func (l *ledger) before(owner owner) (*note, []processes.Process) {
	for _, n := range l.notes() {
		if !n.precedes(owner) {
			continue
		}
		table, err := l.table()
		if err != nil {
			return n, nil
		}
		living, supervised := n.living(table)
		if n.left.Load() && len(living) == 0 && !supervised {
			n.strike()
			continue
		}
		return n, living
	}
	return nil, nil
}

// read returns the notes of an earlier process. An unreadable one stays, since it may be the only trace of a program.
func (l *ledger) read() ([]*note, error) {
	if l.dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(l.dir)
	faults := []error{err}
	var list []*note
	for _, entry := range entries {
		n := &note{path: filepath.Join(l.dir, entry.Name()), ledger: l}
		if strings.HasSuffix(n.path, noteSuffix+newSuffix) {
			_ = os.Remove(n.path)
		}
		if !strings.HasSuffix(n.path, noteSuffix) {
			continue
		}
		encoded, err := os.ReadFile(n.path)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("the note of a program that may still run stays, and so do owed hooks: make it readable and start "+
				"the worker again, or delete it if nothing of the program is left: %w", err))
		case json.Unmarshal(encoded, n) != nil || n.Boot != l.boot:
			_ = os.Remove(n.path)
		default:
			list = append(list, n)
		}
	}
	return list, errors.Join(faults...)
}

const endPoll = 20 * time.Millisecond

// endLeftovers ends the programs of an earlier process. One that does not die is stuck and stays noted: no job starts next
// to it. With err, others may live.
func (l *ledger) endLeftovers(ctx context.Context) (stuck, err error) {
	left, unread := again(ctx, l.read)
	for _, n := range left {
		n.abandon()
		l.add(n)
	}
	ending := &ending{begun: time.Now(), asked: map[string]bool{}, killed: map[string]time.Time{}}
	for len(left) > 0 {
		table, err := again(ctx, l.table)
		if err != nil {
			return stuck, errors.Join(unread, err)
		}
		left = slices.DeleteFunc(left, func(n *note) bool {
			living, supervised := n.living(table)
			if len(living) == 0 && !supervised {
				n.strike()
				return true
			}
			if ending.step(n, living, supervised) {
				return false
			}
			stuck = errors.Join(stuck, fmt.Errorf("%s, which an earlier worker process left running as %s: %w", n.Program, pidsOf(living), errNotDead))
			return true
		})
		if len(left) > 0 && !waitContext(ctx, endPoll) {
			return stuck, errors.Join(unread, context.Cause(ctx))
		}
	}
	return stuck, unread
}

// again waits while the node is short of files: a worker prepares its node only once, and could start nothing meanwhile.
func again[T any](ctx context.Context, read func() (T, error)) (T, error) {
	for waits := false; ; waits = true {
		got, err := read()
		if !isAny(err, short()) || !waitContext(ctx, endPoll) {
			return got, err
		}
		if !waits {
			slog.Error("the worker cannot read what its earlier process left, and waits until it can; raise the limit of open files if this lasts", "error", err)
		}
	}
}

type ending struct {
	begun  time.Time
	asked  map[string]bool
	killed map[string]time.Time
}

// A living shim has sent SIGTERM itself.
func (e *ending) step(n *note, living []processes.Process, supervised bool) bool {
	since, killing := e.killed[n.Mark]
	switch {
	case killing && time.Since(since) >= reapGrace:
		return false
	case killing:
		n.kill(living)
	case time.Since(e.begun) >= n.Grace:
		e.killed[n.Mark] = time.Now()
		n.kill(living)
	case !e.asked[n.Mark]:
		e.asked[n.Mark] = true
		if !supervised {
			n.terminate(living)
		}
	}
	return true
}

func waitContext(ctx context.Context, d time.Duration) bool {
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-limited.Done()
	return ctx.Err() == nil
}
