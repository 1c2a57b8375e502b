package examplee2e

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestBackup kills the worker in the middle of a backup, makes another, prunes, and restores.
func TestBackup(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"restic", "borg"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, name)
			backup(t, name)
		})
	}
}

func backup(t *testing.T, name string) {
	s := newSite(t)
	dir := func(name string) string { return filepath.Join(s.Dir, name) }
	source := dir("source")
	require.NoError(t, os.Mkdir(source, 0o700))
	for _, file := range []string{"a", "b", "c"} {
		text := make([]byte, 32<<20)
		_, err := rand.Read(text)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(source, file), text, 0o600))
	}
	secret := dir("password")
	require.NoError(t, os.WriteFile(secret, []byte("correct horse\n"), 0o600))
	environ := []string{"RESTIC_REPOSITORY=" + dir("repo"), "RESTIC_PASSWORD=correct horse", "RESTIC_CACHE_DIR=" + dir("cache"), "BORG_PASSPHRASE=correct horse", "BORG_BASE_DIR=" + dir("cache")}
	require.NoError(t, os.Mkdir(dir("cache"), 0o700))
	locks := map[string]string{"restic": dir("repo/locks/*"), "borg": dir("repo/lock.exclusive")}[name]
	if name == "restic" {
		output(t, environ, "restic", "init")
	} else {
		output(t, environ, "borg", "init", "-e", "repokey", dir("repo"))
	}
	s.apply("backup", "/srv/restic", dir("repo"), "/srv/borg", dir("repo"), "source: /home", "source: "+source, "source: /etc", "source: "+source,
		"/etc/roundsman/restic.password", secret, "/etc/roundsman/borg.password", secret, "/var/cache/restic", dir("cache"), "/var/cache/borg", dir("cache"), "backoff: 1m", "backoff: 100ms")
	start := func() interface{ Kill() } { return s.worker("node-a", nil, "--labels", "backup="+name) }
	worker := start()
	s.AwaitFresh("node-a")

	ref := s.Begin(name)
	s.eventually("a backup is being written", func() bool {
		found, err := filepath.Glob(locks)
		require.NoError(t, err)
		return len(found) > 0 && len(alive(name, "")) > 0
	})
	worker.Kill()
	s.eventually("the program has ended with its worker", func() bool { return len(alive(name, dir("repo")))+len(alive(name, source)) == 0 })
	start()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 1, result.Counts.Completed, "%+v", result)

	require.NoError(t, os.Mkdir(filepath.Join(source, "more"), 0o700))
	if os.Getuid() != 0 { // Root reads every file.
		require.NoError(t, os.Chmod(filepath.Join(source, "more"), 0))
		assert.Equal(t, 1, s.Result(s.Begin(name)).Counts.Warning)
		require.NoError(t, os.Chmod(filepath.Join(source, "more"), 0o700))
	}
	assert.Equal(t, 1, s.Result(s.Begin(name)).Counts.Completed)
	pruned := s.Result(s.Begin(name + "_prune"))
	assert.Equal(t, 1, pruned.Counts.Completed, "%+v", pruned)

	restored := dir("restored")
	require.NoError(t, os.Mkdir(restored, 0o700))
	if name == "restic" {
		output(t, environ, "restic", "restore", "latest", "--target", restored)
	} else {
		output(t, environ, "sh", "-euc", `cd "$1"; exec borg extract "$2::$(borg list --last 1 --short "$2")"`, "restore", restored, dir("repo"))
	}
	for _, file := range []string{"a", "b", "c"} {
		before, err := os.ReadFile(filepath.Join(source, file))
		require.NoError(t, err)
		after, err := os.ReadFile(filepath.Join(restored, source, file))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(before, after), file)
	}
	assert.NotContains(t, s.Command("show", name+"@/job-00001"), "correct horse")
}
