package joblog_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/jobtype"
)

// An artifact is read in parts by the next process, for any output of the attempt.
func TestArtifactsAreReadByTheNextProcess(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), joblog.Key{Group: "group/g", Job: "job-00001", Attempt: 2}
	open := func() *joblog.Store {
		archive, err := joblog.OpenArchive(dir)
		require.NoError(t, err)
		return joblog.New(archive)
	}
	content := make([]byte, 2<<20+77)
	_, _ = rand.Read(content)
	store := open()
	log := store.Begin(key, time.Now())
	log.Keep(jobtype.OutputPolicy{Max: 3 << 20})
	require.NoError(t, log.Attach("a.bin", bytes.NewReader(content), nil))
	require.NoError(t, log.Attach("empty", bytes.NewReader(nil), nil))
	require.ErrorContains(t, log.Attach("too-large", bytes.NewReader(content), nil), "larger than the 1048499 bytes that output.max leaves")
	require.ErrorContains(t, log.Attach("*.txt", nil, errors.New("no file matches")), "no file matches")
	_, _ = log.Write([]byte("printed\n"))
	store.End(key, log)

	store = open()
	list, attempt := store.Artifacts(joblog.Key{Group: key.Group, Job: key.Job})
	assert.Equal(t, 2, attempt)
	assert.Equal(t, []joblog.Artifact{
		{Name: "a.bin", Size: int64(len(content))},
		{Name: "empty"},
		{Name: "too-large", Error: "larger than the 1048499 bytes that output.max leaves for it"},
		{Name: "*.txt", Error: "no file matches"},
	}, list)
	var read []byte
	for {
		part, err := store.ReadArtifact(key, "a.bin", int64(len(read)))
		require.NoError(t, err)
		if len(part) == 0 {
			break
		}
		assert.LessOrEqual(t, len(part), joblog.MaxChunk)
		read = append(read, part...)
	}
	assert.True(t, bytes.Equal(content, read))
	_, err := store.ReadArtifact(key, "too-large", 0)
	require.Error(t, err)
	chunk, known := store.Read(key, 0, 0)
	assert.True(t, known)
	assert.Equal(t, "printed\n", chunk.Text)
	store.Prune(time.Now().Add(31 * 24 * time.Hour))
	list, _ = store.Artifacts(key)
	assert.Empty(t, list)
}
