package joblog

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// pruneShare is the share of the bound whose growth causes a prune.
const pruneShare = 16

type kept struct {
	dir          string
	ended, until time.Time
	size         int64
}

// Prune deletes outputs older than their policy, then the oldest over the bound. It compresses plain segments of
// killed processes.
func (a *Archive) Prune(now time.Time) {
	if !a.pruning.TryLock() {
		return
	}
	defer a.pruning.Unlock()
	a.grown.Store(0)
	var all []*kept
	total := int64(0)
	for _, dir := range a.attempts() {
		found := a.tidy(dir)
		if found == nil {
			continue
		}
		if now.After(found.until) {
			a.remove(dir)
			continue
		}
		all = append(all, found)
		total += found.size
	}
	slices.SortFunc(all, func(x, y *kept) int { return cmp.Or(x.ended.Compare(y.ended), cmp.Compare(x.dir, y.dir)) })
	for _, oldest := range all {
		if total <= a.Max {
			return
		}
		a.remove(oldest.dir)
		total -= oldest.size
	}
}

// The archive's path may contain the characters of a glob.
func (a *Archive) attempts() []string {
	var dirs []string
	jobs, _ := os.ReadDir(a.dir)
	for _, job := range jobs {
		entries, _ := os.ReadDir(filepath.Join(a.dir, job.Name()))
		for _, entry := range entries {
			dirs = append(dirs, filepath.Join(a.dir, job.Name(), entry.Name()))
		}
	}
	return dirs
}

func (a *Archive) grew() bool { return a.grown.Load() > a.Max/pruneShare }

// remove keeps an attempt that begins meanwhile.
func (a *Archive) remove(dir string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[dir] == nil {
		_ = os.RemoveAll(dir)
		_ = os.Remove(filepath.Dir(dir))
	}
}

// tidy returns nil for an open attempt. The lock keeps the same attempt from beginning meanwhile.
func (a *Archive) tidy(dir string) *kept {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[dir] != nil {
		return nil
	}
	read, _ := describe(dir)
	found := &kept{dir: dir, ended: read.Started, size: block}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			continue
		}
		found.size += (info.Size() + block - 1) / block * block
		name, isPlain := strings.CutSuffix(entry.Name(), plainSuffix)
		if !isPlain && !strings.HasSuffix(entry.Name(), compressedSuffix) {
			continue
		}
		if info.ModTime().After(found.ended) {
			found.ended = info.ModTime()
		}
		if start, err := strconv.ParseInt(name, 10, 64); isPlain && err == nil && info.Size() > block {
			// A killed process may have left both forms; the new one replaces the other.
			_ = a.compress(dir, segment{start: start})
		}
	}
	found.until = found.ended.Add(jobtype.OutputPolicy{Keep: read.Keep}.WithDefaults().Keep.Std())
	return found
}
