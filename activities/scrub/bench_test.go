package scrub

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// BenchmarkVerify reads one large file from the page cache, so that it measures the hash and the loop without a
// disk.
func BenchmarkVerify(b *testing.B) {
	const size = 256 << 20
	root := b.TempDir()
	content := make([]byte, size)
	_, _ = rand.Read(content)
	require.NoError(b, os.WriteFile(filepath.Join(root, "large"), content, 0o600))
	in := jobtype.DetectInput{Params: encodeForTest(b, map[string]any{"root": root, "drop_cache": false})}
	handler := New(Options{DataDir: b.TempDir()})
	found := jobtypetest.Detect(b.Context(), handler, in)
	require.Len(b, found.Proposals, 1)
	job, err := jobtypetest.JobOf(in, found.Proposals[0], nil)
	require.NoError(b, err)
	b.SetBytes(size)
	for b.Loop() {
		require.NoError(b, jobtypetest.Execute(b.Context(), handler, job).Err)
	}
	require.NoError(b, handler.Close())
}

// BenchmarkDetect walks 20,000 verified files in 200 directories, as the usual detection, which finds nothing.
// BenchmarkDetect/new finds all.
func BenchmarkDetect(b *testing.B) {
	const directories, perDirectory = 200, 100
	root := b.TempDir()
	for d := range directories {
		directory := filepath.Join(root, fmt.Sprintf("d%03d", d))
		require.NoError(b, os.Mkdir(directory, 0o700))
		for f := range perDirectory {
			require.NoError(b, os.WriteFile(filepath.Join(directory, fmt.Sprintf("f%03d", f)), nil, 0o600))
		}
	}
	in := jobtype.DetectInput{DryRun: true, MaxResults: jobtype.MaxJobsLimit, Params: encodeForTest(b, map[string]any{"root": root})}
	handler := New(Options{DataDir: b.TempDir()})
	report := func(b *testing.B) {
		b.Helper()
		b.ReportMetric(float64(directories*perDirectory*b.N)/b.Elapsed().Seconds(), "files/s")
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			require.Len(b, jobtypetest.Detect(b.Context(), handler, in).Proposals, directories*perDirectory)
		}
		report(b)
	})
	recordAll(b, handler, in)
	b.Run("verified", func(b *testing.B) {
		for b.Loop() {
			require.Empty(b, jobtypetest.Detect(b.Context(), handler, in).Proposals)
		}
		report(b)
	})
	require.NoError(b, handler.Close())
}

// BenchmarkSmallFiles verifies small files with eight executors. Every verdict is on disk before its job ends.
func BenchmarkSmallFiles(b *testing.B) {
	root := b.TempDir()
	for f := range 64 {
		require.NoError(b, os.WriteFile(filepath.Join(root, fmt.Sprintf("f%03d", f)), make([]byte, 4096), 0o600))
	}
	in := jobtype.DetectInput{Params: encodeForTest(b, map[string]any{"root": root})}
	handler := New(Options{DataDir: b.TempDir()})
	found := jobtypetest.Detect(b.Context(), handler, in)
	jobs := make(chan jobtype.Job, 64)
	for _, proposal := range found.Proposals {
		job, err := jobtypetest.JobOf(in, proposal, nil)
		require.NoError(b, err)
		jobs <- job
	}
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			job := <-jobs
			if done := jobtypetest.Execute(b.Context(), handler, job); done.Err != nil {
				b.Error(done.Err)
			}
			jobs <- job
		}
	})
	require.NoError(b, handler.Close())
}
