package group

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// pagedOf plays a group of n jobs in pages of 2,000, on as many nodes in random order; 0: on any.
func pagedOf(b *testing.B, n, nodes int) *script {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a measurement
	classes := []contract.JobClass{{}}
	workers := []contract.WorkerView{node("any", 64)}
	for i := range nodes {
		name := fmt.Sprintf("node-%03d", i)
		classes, workers = append(classes[:i], contract.JobClass{Node: name}), append(workers, node(name, 4))
	}
	var pages []*contract.ProposalPage
	for first := 0; first < n; first += 2000 {
		p := &contract.ProposalPage{Page: fmt.Sprintf("%016x", first), Count: min(2000, n-first), Classes: classes}
		for range p.Count {
			p.Runs = append(p.Runs, contract.ClassRun{Class: rng.IntN(len(classes)), Count: 1})
		}
		pages = append(pages, p)
	}
	policy := jobtype.Policy{MaxJobsPerDetection: n, GlobalExecutionConcurrency: 64, PerWorkerExecutionConcurrency: 64, MaxRuntime: jobtype.Duration(1000 * time.Hour)}
	return paged(b, policy, 0, 0, workers, pages...)
}

// drain ends jobs as they start, until n have ended. A pass is the workflow's work after an event.
func (s *script) drain(n int) {
	var running []run.Ended
	take := func(commands []source.Command) {
		for _, c := range commands {
			switch c := c.(type) {
			case StartJob:
				running = append(running, run.Ended{Item: c.Item, Attempt: c.Attempt, Ending: run.Ending{Duration: time.Millisecond}})
			case StoreRecord:
				s.g.Next(s.now, RecordStored{Page: contract.PageName(c.Segment)})
			}
		}
	}
	take(s.all)
	s.all = nil
	for range n {
		for len(running) == 0 {
			s.now = s.g.NextWake()
			take(s.g.Next(s.now, run.Tick{}))
		}
		one := running[0]
		running = running[1:]
		s.now = s.now.Add(time.Millisecond)
		s.g.engine.Observe(s.now, 10, 10, 0)
		take(s.g.Next(s.now, one))
		s.g.engine.Notes()
		s.g.NextWake()
		s.g.Summary(s.now)
		s.g.ShouldContinueAsNew()
	}
}

// cpuTime is the CPU time of this process while do runs: a busy machine changes it little.
func cpuTime(b *testing.B, do func()) time.Duration {
	b.Helper()
	used := func() time.Duration {
		var usage syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	runtime.GC()
	before := used()
	do()
	return used() - before
}

// BenchmarkPagedGroup is the core of a whole group, per job. The cost must not grow with the jobs.
func BenchmarkPagedGroup(b *testing.B) {
	for _, nodes := range []int{0, 500} {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%d nodes, %d jobs", nodes, n), func(b *testing.B) {
				var used time.Duration
				for b.Loop() {
					s := pagedOf(b, n, nodes)
					used += cpuTime(b, func() { s.drain(n) })
					require.Equal(b, n, s.g.Counts().Completed)
				}
				b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/float64(n), "CPU-ns/job")
			})
		}
	}
}

// BenchmarkPagedSnapshot writes and reads the state of 1,000,000 jobs on 500 nodes in random order.
func BenchmarkPagedSnapshot(b *testing.B) {
	s := pagedOf(b, 1_000_000, 500)
	s.drain(1000)
	data, err := s.g.Snapshot()
	require.NoError(b, err)
	measured(b, "write", len(data), func() error { _, err := s.g.Snapshot(); return err })
	measured(b, "read", len(data), func() error { _, err := Restore(data, s.now); return err })
}

func measured(b *testing.B, name string, bytes int, do func() error) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		var used time.Duration
		for b.Loop() {
			used += cpuTime(b, func() { require.NoError(b, do()) })
		}
		b.ReportMetric(used.Seconds()/float64(b.N), "CPU-s")
		b.ReportMetric(float64(bytes), "bytes")
	})
}

// BenchmarkDAGSnapshot writes and reads the state of a group whose proposals have 32 MB of texts that hardly compress.
func BenchmarkDAGSnapshot(b *testing.B) {
	for _, c := range []struct {
		name    string
		n, size int
		made    func(*jobtype.Proposal, string)
	}{
		{"170 DAGs of 190 KB", 170, 190_000, func(p *jobtype.Proposal, text string) { p.DAG = text }},
		{"8,000 details of 3.7 KB", 8000, 3700, func(p *jobtype.Proposal, text string) { p.Detail = text }},
	} {
		rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a measurement
		found := make([]jobtype.Proposal, c.n)
		for i := range found {
			noise := make([]byte, c.size*3/4)
			for k := range noise {
				noise[k] = byte(rng.Uint32())
			}
			found[i].DedupeKey = fmt.Sprint(i)
			c.made(&found[i], base64.StdEncoding.EncodeToString(noise))
		}
		s := open(b, Config{Policy: jobtype.Policy{MaxJobsPerDetection: c.n, GlobalExecutionConcurrency: 1}}, node("a", 1))
		s.begin()
		s.detected(found...)
		data, err := s.g.Snapshot()
		require.NoError(b, err)
		b.Run(c.name, func(b *testing.B) {
			measured(b, "write", len(data), func() error { _, err := s.g.Snapshot(); return err })
			measured(b, "read", len(data), func() error { _, err := Restore(data, s.now); return err })
		})
	}
}
