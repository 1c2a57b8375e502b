package group

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// keyedRun plays a group of jobs with keys, and answers its claims. It measures the longest step of the core.
type keyedRun struct {
	*script

	b       *testing.B
	rng     *rand.Rand
	running []run.Ended
	todo    []source.Event
	longest time.Duration
	of      string
}

func used(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (k *keyedRun) measure(of string, do func()) {
	before := used(k.b)
	do()
	if took := used(k.b) - before; took > k.longest {
		k.longest, k.of = took, of
	}
}

func (k *keyedRun) hashes(n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = k.rng.Uint64()
	}
	return list
}

func (k *keyedRun) step(event source.Event) {
	var commands []source.Command
	k.measure(fmt.Sprintf("%T", event), func() {
		k.g.engine.Observe(k.now, 10, 10, 0)
		commands = k.g.Next(k.now, event)
		k.g.engine.Notes()
		k.g.NextWake()
		k.g.Summary(k.now)
		k.g.ShouldContinueAsNew()
	})
	k.take(commands)
}

func (k *keyedRun) take(commands []source.Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case StartJob:
			k.running = append(k.running, run.Ended{Item: c.Item, Attempt: c.Attempt, Ending: run.Ending{Duration: time.Millisecond}})
		case StoreRecord:
			k.todo = append(k.todo, RecordStored{Page: contract.PageName(c.Segment)})
		case ClaimKeys:
			k.measure("hash of all keys", func() { k.g.Claims(false) })
			k.todo = append(k.todo, KeysClaimed{Fence: 1, Fences: 1 << 40})
		case chunks.ClaimBacklog:
			k.todo = append(k.todo, ChunkAnswered{chunks.BacklogClaimed{}})
		case chunks.ReadKeys:
			n := 0
			for _, ref := range c.Refs {
				n += ref.Count
			}
			k.todo = append(k.todo, ChunkAnswered{chunks.KeysRead{Seq: c.Seq, Hashes: k.hashes(n)}})
		case chunks.ClaimChunk:
			k.todo = append(k.todo, ChunkAnswered{chunks.Claimed{Seq: c.Seq, Fence: 1, Fences: 1 << 40}})
		}
	}
}

func (k *keyedRun) drain(n int) {
	for ended := 0; ended < n; {
		switch {
		case len(k.todo) > 0:
			event := k.todo[0]
			k.todo = k.todo[1:]
			k.step(event)
		case len(k.running) > 0:
			one := k.running[0]
			k.running = k.running[1:]
			k.now = k.now.Add(time.Millisecond)
			k.step(one)
			ended++
		default:
			k.now = k.g.NextWake()
			k.step(run.Tick{})
		}
	}
}

// keyedOf opens a group of n jobs with keys. It has as many of them itself as the sink gives it.
func keyedOf(b *testing.B, n int) *keyedRun {
	b.Helper()
	policy := jobtype.Policy{MaxJobsPerDetection: n, GlobalExecutionConcurrency: 64, PerWorkerExecutionConcurrency: 64, MaxRuntime: jobtype.Duration(1000 * time.Hour)}
	cfg := Config{Policy: policy, Claims: true}
	s := open(b, cfg, node("any", 64))
	s.begin()
	k := &keyedRun{script: s, b: b, rng: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // a measurement
	s.all = nil
	first, seq := min(n, cfg.keyedInGroup()), 0
	send := func(page Page) {
		page.Attempt, page.Seq = 1, seq
		seq++
		require.NoError(b, s.g.CheckPage(page))
		k.measure("page", func() { s.g.TakePage(s.now, page) })
	}
	for at := 0; at < first; at += 200 {
		var page Page
		for i := range min(200, first-at) {
			key := binary.BigEndian.AppendUint64(nil, k.rng.Uint64())
			page.Proposals = append(page.Proposals, jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%x", key), Summary: fmt.Sprintf("no-op %d", at+i)})
		}
		send(page)
	}
	for at := first; at < n; at += 2000 {
		send(Page{Paged: pageOf(fmt.Sprintf("%016x", at), min(2000, n-at), contract.JobClass{Keyed: true})})
	}
	k.step(DetectionEnded{Attempt: 1, Pages: seq, Emitted: n})
	return k
}

// BenchmarkKeyedGroup is the core of a group whose jobs have keys: the CPU time per job, that of its longest step, and that of
// its states: after the claim of the jobs that it has itself, and in the middle of the chunks.
func BenchmarkKeyedGroup(b *testing.B) {
	for _, n := range []int{10_000, 200_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d jobs", n), func(b *testing.B) {
			for b.Loop() {
				k := keyedOf(b, n)
				runtime.GC()
				before := used(b)
				state := func(at string) {
					var data []byte
					var err error
					began := used(b)
					k.measure("write the state "+at, func() { data, err = k.g.Snapshot() })
					require.NoError(b, err)
					wrote := used(b)
					k.measure("read the state "+at, func() { _, err = Restore(data, k.now) })
					require.NoError(b, err)
					b.Logf("%s: %d bytes, write %v, read %v, open %d", at, len(data), wrote-began, used(b)-wrote, k.g.jobs.Open.Len())
				}
				k.drain(100)
				state("at the beginning")
				k.drain(n/2 - 100)
				state("in the middle")
				k.drain(n - n/2)
				require.Equal(b, n, k.g.Counts().Completed)
				b.ReportMetric(float64((used(b)-before).Nanoseconds())/float64(n), "CPU-ns/job")
				b.ReportMetric(float64(k.longest.Microseconds())/1000, "CPU-ms/longest-step")
				b.Log("longest step: ", k.of)
			}
		})
	}
}
