package joblog_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/jobtype"
)

// endlessIn makes the test binary print lines into an archive until it is killed.
const endlessIn = "ROUNDSMAN_TEST_ENDLESS_OUTPUT_IN"

func TestMain(m *testing.M) {
	dir := os.Getenv(endlessIn)
	if dir == "" {
		os.Exit(m.Run()) //nolint:forbidigo // TestMain must
	}
	archive, err := joblog.OpenArchive(dir)
	if err != nil {
		panic(err)
	}
	log := joblog.New(archive).Begin(endless, time.Now())
	for n := 0; ; n++ {
		_, _ = fmt.Fprintf(log, "line %d of an output that is to be killed\n", n)
		_, _ = fmt.Fprintln(os.Stdout, n)
	}
}

var endless = joblog.Key{Group: "g", Job: "endless", Attempt: 1}

func open(t require.TestingT, dir string) (*joblog.Archive, *joblog.Store) {
	archive, err := joblog.OpenArchive(dir)
	require.NoError(t, err)
	return archive, joblog.New(archive)
}

// all reads an output part by part.
func all(store *joblog.Store, key joblog.Key) (parts []joblog.Chunk) {
	for offset := int64(0); ; {
		chunk, known := store.Read(key, offset, 0)
		if !known || chunk.Text == "" {
			return parts
		}
		parts, offset = append(parts, chunk), chunk.Next
	}
}

// The next process reads each line written before a SIGKILL, in order, across compressed segments and the
// plain one.
func TestAKilledProcessLeavesItsOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), endlessIn+"="+dir)
	acknowledged, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines, written := bufio.NewScanner(acknowledged), 0
	for lines.Scan() {
		if written++; written == 40_000 {
			require.NoError(t, child.Process.Kill())
		}
	}
	require.Error(t, child.Wait())
	require.GreaterOrEqual(t, written, 40_000)

	archive, store := open(t, dir)
	archive.Prune(time.Now())
	var text strings.Builder
	for _, part := range all(store, endless) {
		require.Equal(t, int64(text.Len()), part.Offset)
		text.WriteString(part.Text)
		assert.False(t, part.Running)
	}
	printed := strings.Split(text.String(), "\n")
	require.GreaterOrEqual(t, len(printed), written)
	for n := range written {
		require.Equal(t, fmt.Sprintf("line %d of an output that is to be killed", n), printed[n])
	}
	large, err := filepath.Glob(filepath.Join(dir, "*", "1", "*.log"))
	require.NoError(t, err)
	assert.Empty(t, large, "the segment in which the process was killed is compressed, too")
}

// For any output in any pieces, the beginning and the end are kept, and each part has the right offset. The next
// process reads the same.
func TestOutputsAreReadBack(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		key := joblog.Key{Group: "g", Job: fmt.Sprint("j", run), Attempt: 1}
		limit := rapid.Int64Range(jobtype.MinOutputFile, 200_000).Draw(r, "max")
		_, store := open(r, dir)
		log := store.Begin(key, time.Unix(100, 0))
		log.Keep(jobtype.OutputPolicy{Max: limit})
		var printed strings.Builder
		for _, size := range rapid.SliceOfN(rapid.IntRange(1, 60_000), 1, 12).Draw(r, "writes") {
			piece := strings.Repeat(fmt.Sprintf("%07d\n", printed.Len()), size/8+1)[:size]
			printed.WriteString(piece)
			_, _ = log.Write([]byte(piece))
		}
		if rapid.Bool().Draw(r, "ended") {
			store.End(key, log)
		}
		_, store = open(r, dir)
		text, total, end := printed.String(), int64(printed.Len()), int64(0)
		kept := int64(0)
		for _, part := range all(store, key) {
			require.Equal(r, text[part.Offset:part.Next], part.Text)
			require.True(r, part.Offset == end || end >= limit/2-16 && part.Offset > end, "a gap at %d", end)
			end, kept = part.Next, kept+int64(len(part.Text))
		}
		require.Equal(r, total, end, "the end is kept")
		require.LessOrEqual(r, kept, limit+limit/16)
		require.GreaterOrEqual(r, kept, min(total, limit*7/8), "of %d", total)
		from := rapid.Int64Range(0, total).Draw(r, "from")
		chunk, _ := store.Read(key, from, 100)
		require.Equal(r, text[chunk.Offset:chunk.Next], chunk.Text)
		require.GreaterOrEqual(r, chunk.Offset, from)
		last, _ := store.Read(key, -10, 0)
		require.Equal(r, text[max(0, total-10):], last.Text)
	})
}

func TestOutputsArePruned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, store := open(t, dir)
	now := time.Now()
	keys := make([]joblog.Key, 4)
	for i := range keys {
		keys[i] = joblog.Key{Group: "g", Job: "j", Attempt: i + 1}
		log := store.Begin(keys[i], now)
		log.Keep(jobtype.OutputPolicy{Keep: jobtype.Duration(time.Hour)})
		_, err := fmt.Fprintf(log, "attempt %d", i+1)
		require.NoError(t, err)
		if i < 3 {
			store.End(keys[i], log)
		}
		old := now.Add(time.Duration(i-10) * time.Minute)
		require.NoError(t, os.Chtimes(segmentOf(t, dir, i+1), old, old))
	}
	_, fresh := open(t, dir)
	newest, known := fresh.Read(joblog.Key{Group: "g", Job: "j"}, 0, 0)
	require.True(t, known)
	assert.Equal(t, "attempt 4", newest.Text)

	archive.Prune(now.Add(51 * time.Minute))
	assert.Len(t, attempts(t, dir), 4)
	archive.Max = 2 * 12 << 10
	archive.Prune(now)
	assert.Equal(t, []string{"2", "3", "4"}, attempts(t, dir), "the oldest goes first, the running one does not count")
	archive.Prune(now.Add(61 * time.Minute))
	assert.Equal(t, []string{"4"}, attempts(t, dir), "what runs stays")
}

// An output that cannot be written is read from memory.
func TestAFullDiskLosesNoMemory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outputs")
	_, store := open(t, dir)
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	key := joblog.Key{Group: "g", Job: "j", Attempt: 1}
	log := store.Begin(key, time.Now())
	write(t, log, "one\ntwo\n")
	chunk, known := store.Read(key, 0, 0)
	require.True(t, known)
	assert.Equal(t, "one\ntwo\n", chunk.Text)
	store.End(key, log)
	chunk, _ = store.Read(key, -4, 0)
	assert.Equal(t, "two\n", chunk.Text)
}

func segmentOf(t *testing.T, dir string, attempt int) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", fmt.Sprint(attempt), "*.log"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

func attempts(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// The first try of a repeated attempt, still open, neither writes into the files of the second nor exposes
// them to a prune.
func TestARepeatedAttemptOwnsItsFiles(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), joblog.Key{Group: "g", Job: "j", Attempt: 1}
	archive, store := open(t, dir)
	first := store.Begin(key, time.Unix(1, 0))
	first.Keep(jobtype.OutputPolicy{Max: jobtype.MinOutputFile})
	_, _ = first.Write([]byte(strings.Repeat("a", 5000)))
	second := store.Begin(key, time.Unix(2, 0))
	_, _ = second.Write([]byte(strings.Repeat("b", 5000)))
	_, _ = first.Write([]byte(strings.Repeat("a", 5000)))
	store.End(key, first)
	archive.Prune(time.Now())
	_, _ = second.Write([]byte(strings.Repeat("b", 5000)))
	store.End(key, second)
	_, store = open(t, dir)
	parts := all(store, key)
	require.Len(t, parts, 1)
	assert.Equal(t, strings.Repeat("b", 10_000), parts[0].Text)
}

func TestThePathOfAnArchiveIsNoPattern(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[a]*")
	archive, store := open(t, dir)
	log := store.Begin(endless, time.Now())
	_, _ = log.Write([]byte("x"))
	store.End(endless, log)
	archive.Prune(time.Now().Add(2 * jobtype.DefaultOutputKeep.Std()))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A reader that is faster than the writer waits for the rest of a character.
func TestACharacterIsNotReadInHalves(t *testing.T) {
	t.Parallel()
	_, store := open(t, t.TempDir())
	log := store.Begin(endless, time.Now())
	text := ""
	for _, piece := range []string{"a\xe2", "\x82", "\xac", "b\xe2"} {
		_, _ = log.Write([]byte(piece))
		chunk, known := store.Read(endless, int64(len(text)), 0)
		require.True(t, known)
		require.Equal(t, int64(len(text)), chunk.Offset)
		text += chunk.Text
	}
	assert.Equal(t, "a€b", text)
	store.End(endless, log)
	chunk, _ := store.Read(endless, int64(len(text)), 0)
	assert.Equal(t, "\ufffd", chunk.Text, "no more comes")
}

// A handler in Go may request any policy.
func TestAnyPolicyIsBounded(t *testing.T) {
	t.Parallel()
	for at, policy := range []jobtype.OutputPolicy{{Max: 1, Keep: -1}, {Max: -5, Keep: 1 << 62}, {Max: 1 << 50}} {
		dir := t.TempDir()
		archive, store := open(t, dir)
		log := store.Begin(endless, time.Now())
		log.Keep(policy)
		_, _ = log.Write([]byte("text"))
		store.End(endless, log)
		archive.Prune(time.Now())
		_, store = open(t, dir)
		chunk, _ := store.Read(endless, 0, 0)
		assert.Equal(t, "text", chunk.Text, at)
		archive.Prune(time.Now().Add(2 * jobtype.MaxOutputKeep.Std()))
		_, known := store.Read(endless, 0, 0)
		assert.False(t, known, at)
	}
}
