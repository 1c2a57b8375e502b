package joblog_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/joblog"
)

func write(t *testing.T, log *joblog.Log, text string) {
	t.Helper()
	n, err := log.Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

func TestReadFollowsARunningJob(t *testing.T) {
	t.Parallel()
	store, key := joblog.New(nil), joblog.Key{Group: "g", Job: "job-1", Attempt: 2}
	_, known := store.Read(key, 0, 0)
	assert.False(t, known)
	log := store.Begin(key, time.Unix(100, 0))
	write(t, log, "one\ntw\xc3") // half of an ö
	first, known := store.Read(joblog.Key{Group: "g", Job: "job-1"}, 0, 0)
	require.True(t, known, "attempt 0 is the newest")
	assert.Equal(t, joblog.Chunk{Attempt: 2, Next: 6, Text: "one\ntw", Running: true, Started: time.Unix(100, 0)}, first)
	write(t, log, "\xb6\n")
	second, _ := store.Read(key, first.Next, 0)
	assert.Equal(t, "ö\n", second.Text)
	third, _ := store.Read(key, second.Next, 0)
	assert.Empty(t, third.Text)
	assert.Equal(t, second.Next, third.Next)
	end, _ := store.Read(key, -4, 0)
	assert.Equal(t, "w\u00f6\n", end.Text)
	piece, _ := store.Read(key, 0, 3)
	assert.Equal(t, "one", piece.Text)
}

func TestBoundsWhileItRunsAndAfter(t *testing.T) {
	t.Parallel()
	store, key := joblog.New(nil), joblog.Key{Group: "g", Job: "j", Attempt: 1}
	log := store.Begin(key, time.Time{})
	line := strings.Repeat("x", 1023) + "\n"
	for range 5 * 1024 {
		write(t, log, line)
	}
	var read int64
	for offset := int64(0); ; {
		chunk, _ := store.Read(key, offset, 0)
		if chunk.Text == "" {
			break
		}
		read, offset = read+int64(len(chunk.Text)), chunk.Next
	}
	assert.GreaterOrEqual(t, read, int64(joblog.MaxRunning))
	assert.LessOrEqual(t, read, int64(joblog.MaxRunning*5/4))
	write(t, log, "the end")
	store.End(key, log)
	chunk, _ := store.Read(key, 0, 0)
	assert.Greater(t, len(chunk.Text), joblog.MaxEnded, "who follows it reads it to its end")
	for i := range 8 {
		next := joblog.Key{Group: "g", Job: "next-" + strconv.Itoa(i), Attempt: 1}
		later := store.Begin(next, time.Time{})
		write(t, later, "x")
		store.End(next, later)
	}
	chunk, _ = store.Read(key, 0, 0)
	assert.Len(t, chunk.Text, joblog.MaxEnded)
	assert.True(t, strings.HasSuffix(chunk.Text, "the end"))
	assert.False(t, chunk.Running)
	assert.Equal(t, int64(5<<20)+7, chunk.Next)
}

func TestOldLogsAreForgotten(t *testing.T) {
	t.Parallel()
	store := joblog.New(nil)
	silent := joblog.Key{Group: "g", Job: "silent", Attempt: 1}
	store.End(silent, store.Begin(silent, time.Time{}))
	_, known := store.Read(silent, 0, 0)
	assert.False(t, known, "nothing was printed")
	for i := range joblog.MaxLogs + 1 {
		key := joblog.Key{Group: "g", Job: strconv.Itoa(i), Attempt: 1}
		log := store.Begin(key, time.Time{})
		write(t, log, "x")
		store.End(key, log)
	}
	_, known = store.Read(joblog.Key{Group: "g", Job: "0", Attempt: 1}, 0, 0)
	assert.False(t, known)
	_, known = store.Read(joblog.Key{Group: "g", Job: "1", Attempt: 1}, 0, 0)
	assert.True(t, known)
}

// The kept bytes are consecutive, so that their offsets are right.
func TestOneLargeWriteReplacesWhatWasKept(t *testing.T) {
	t.Parallel()
	store, key := joblog.New(nil), joblog.Key{Group: "g", Job: "j", Attempt: 1}
	log := store.Begin(key, time.Time{})
	write(t, log, "head\n")
	write(t, log, strings.Repeat("x", 2*joblog.MaxRunning))
	chunk, _ := store.Read(key, 0, 10)
	assert.Equal(t, int64(len("head\n")+joblog.MaxRunning), chunk.Offset)
	assert.Equal(t, strings.Repeat("x", 10), chunk.Text)
}

// An attempt that a worker began twice is as old as its second end.
func TestAnAttemptTwiceIsKeptAsTheSecond(t *testing.T) {
	t.Parallel()
	store, again := joblog.New(nil), joblog.Key{Group: "g", Job: "again", Attempt: 1}
	run := func(key joblog.Key) {
		log := store.Begin(key, time.Time{})
		write(t, log, key.Job)
		store.End(key, log)
	}
	run(again)
	for k := range joblog.MaxLogs - 1 {
		if k == joblog.MaxLogs/2 {
			run(again)
		}
		run(joblog.Key{Group: "g", Job: strconv.Itoa(k), Attempt: 1})
	}
	for _, job := range []string{"again", "0"} {
		chunk, known := store.Read(joblog.Key{Group: "g", Job: job, Attempt: 1}, 0, 0)
		assert.True(t, known, job)
		assert.Equal(t, job, chunk.Text)
	}
	run(joblog.Key{Group: "g", Job: "last", Attempt: 1})
	_, known := store.Read(joblog.Key{Group: "g", Job: "0", Attempt: 1}, 0, 0)
	assert.False(t, known)
}
