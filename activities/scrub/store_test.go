package scrub

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

func newStore(t testing.TB, path string) store {
	t.Helper()
	s := store{newLease(path, 30*time.Second)}
	t.Cleanup(s.lease.close)
	return s
}

// fill stores many records in one commit.
func (s store) fill(ctx context.Context, all []revision) error {
	return s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			for _, revision := range all {
				if err := tx.Bucket(filesBucket).Put([]byte(revision.path), revision.new.encode()); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func numbered(n int64) record { return record{Size: n, VerifiedAt: time.Unix(n, 0).UTC()} }

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string) time.Time { return fromNano(rapid.Int64().Draw(t, name)) }
		want := record{
			Size: rapid.Int64().Draw(t, "size"), MtimeNS: rapid.Int64().Draw(t, "mtime"),
			RecordedAt: at("recorded"), VerifiedAt: at("verified"), RotAt: at("rot"), MissingSince: at("missing"),
		}
		copy(want.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		got, err := decodeRecord(want.encode())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	_, err := decodeRecord([]byte("short"))
	require.ErrorContains(t, err, "a record of 5 bytes")
}

func TestStoreKeepsAcrossReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "scrub.db")
	first := newStore(t, path)
	require.NoError(t, first.put(t.Context(), "/a", numbered(1)))
	require.NoError(t, first.remember(t.Context(), "k", "v"))
	id, err := first.id(t.Context())
	require.NoError(t, err)
	first.lease.close()

	second := newStore(t, path)
	records, err := second.lookup(t.Context(), "/b", "/a")
	require.NoError(t, err)
	assert.Nil(t, records[0])
	assert.Equal(t, numbered(1), *records[1])
	value, err := second.recall(t.Context(), "k")
	require.NoError(t, err)
	assert.Equal(t, "v", value)
	again, err := second.id(t.Context())
	require.NoError(t, err)
	assert.Equal(t, id, again)
	require.NoError(t, second.remember(t.Context(), "k", ""))
	value, err = second.recall(t.Context(), "k")
	require.NoError(t, err)
	assert.Empty(t, value)

	other, err := newStore(t, filepath.Join(t.TempDir(), "scrub.db")).id(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, id, other)
}

func TestRevisionsLeaveNewerRecordsAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t, filepath.Join(t.TempDir(), "scrub.db"))
	for _, path := range []string{"/r/a", "/r/b", "/r/c", "/rest"} {
		require.NoError(t, s.put(t.Context(), path, numbered(1)))
	}
	known, err := s.after(t.Context(), "/r/", "", 10)
	require.NoError(t, err)
	require.Len(t, known, 3)
	require.NoError(t, s.put(t.Context(), "/r/b", numbered(2)))
	changed := numbered(3)
	require.NoError(t, s.revise(t.Context(), []revision{{known[0], &changed}, {known[1], &changed}, {known[2], nil}}))
	records, err := s.lookup(t.Context(), "/r/a", "/r/b", "/r/c")
	require.NoError(t, err)
	assert.Equal(t, numbered(3), *records[0])
	assert.Equal(t, numbered(2), *records[1])
	assert.Nil(t, records[2])

	page, err := s.after(t.Context(), "/r/", "/r/a", 1)
	require.NoError(t, err)
	require.Len(t, page, 1)
	assert.Equal(t, "/r/b", page[0].path)
}

func TestFileThatIsNoBaseline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scrub.db")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("something else entirely ", 1000)), 0o600))
	_, err := newStore(t, path).id(t.Context())
	require.ErrorContains(t, err, "baseline "+path+" cannot be opened")
	require.ErrorContains(t, err, "move it away")

	path = filepath.Join(t.TempDir(), "scrub.db")
	s := newStore(t, path)
	require.NoError(t, s.remember(t.Context(), string(versionKey), "99"))
	s.lease.close()
	_, err = newStore(t, path).id(t.Context())
	require.ErrorContains(t, err, `has format "99" and this Roundsman reads "1"`)
}

func TestHandlersOfOneProcessShareAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scrub.db")
	const handlers, writers, each = 3, 4, 40
	var group sync.WaitGroup
	for h := range handlers {
		s := newStore(t, path)
		for w := range writers {
			group.Go(func() {
				for i := range each {
					assert.NoError(t, s.put(t.Context(), fmt.Sprintf("/%d/%d/%d", h, w, i), numbered(int64(i))))
				}
			})
		}
	}
	group.Wait()
	all, err := newStore(t, path).after(t.Context(), "/", "", 10_000)
	require.NoError(t, err)
	assert.Len(t, all, handlers*writers*each)
}

func TestWaitingForAFileEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scrub.db")
	holder := newStore(t, path)
	release := make(chan struct{})
	held := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		assert.NoError(t, holder.lease.use(t.Context(), func(*bbolt.DB) error { close(held); <-release; return nil }))
	})
	<-held
	_, err := store{newLease(path, 300*time.Millisecond)}.id(t.Context())
	require.ErrorContains(t, err, "was held by another process for 300ms")

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("enough")
	cancel(cause)
	_, err = newStore(t, path).id(ctx)
	require.ErrorIs(t, err, cause)
	close(release)
	group.Wait()
}

// writeForEver is another process that stores records 1, 2, 3, … and prints each number until it is killed.
func writeForEver(path string) int {
	s := store{newLease(path, 30*time.Second)}
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := int64(1); ; i++ {
				if err := s.put(context.Background(), fmt.Sprintf("/%d/%d/%d", os.Getpid(), w, i), numbered(i)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Fprintf(os.Stdout, "/%d/%d/%d\n", os.Getpid(), w, i)
			}
		})
	}
	group.Wait()
	return 1
}

// startWriter returns the writer process and its lines.
func startWriter(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	writer := exec.Command(executable)
	writer.Env = append(os.Environ(), childRole+"="+path)
	writer.Stderr = os.Stderr
	stdout, err := writer.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, writer.Start())
	t.Cleanup(func() { _ = writer.Process.Kill() })
	return writer, bufio.NewScanner(stdout)
}

func TestNothingCommittedIsLostByKill9(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scrub.db")
	var kept []string
	for round := range 5 {
		writer, lines := startWriter(t, path)
		for n := 0; lines.Scan(); n++ {
			kept = append(kept, lines.Text())
			if n == 20+17*round {
				require.NoError(t, writer.Process.Kill()) // in the middle of writes; lines in the pipe count too
			}
		}
		_ = writer.Wait()
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		for _, key := range kept {
			if tx.Bucket(filesBucket).Get([]byte(key)) == nil {
				return fmt.Errorf("%s was committed and is lost", key)
			}
		}
		return nil
	}))
	assert.Greater(t, len(kept), 5*20)
}

func TestProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scrub.db")
	_, first := startWriter(t, path)
	_, second := startWriter(t, path)
	var group sync.WaitGroup
	for _, lines := range []*bufio.Scanner{first, second} {
		group.Go(func() {
			for range 200 {
				if !assert.True(t, lines.Scan(), "a busy process must let the others in") {
					return
				}
			}
		})
	}
	s := newStore(t, path)
	for i := range 20 {
		require.NoError(t, s.put(t.Context(), fmt.Sprint("/mine/", i), numbered(1)))
	}
	group.Wait()
}
