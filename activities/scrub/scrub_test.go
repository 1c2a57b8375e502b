package scrub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

func encodeForTest(t testing.TB, value any) json.RawMessage {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	return encoded
}

// rig is a tree with a handler whose clock the test sets.
type rig struct {
	*testing.T
	root    string
	handler *Handler
	now     time.Time
	params  map[string]any
}

func newRig(t *testing.T, files ...string) *rig {
	t.Helper()
	r := &rig{T: t, root: t.TempDir(), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	r.params = map[string]any{"root": r.root}
	r.handler = New(Options{DataDir: t.TempDir(), CheckpointBytes: 1 << 20, Now: func() time.Time { return r.now }})
	t.Cleanup(func() { assert.NoError(t, r.handler.Close()) })
	for _, name := range files {
		r.write(name, "content of "+name)
	}
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }

func (r *rig) write(name, content string) {
	r.Helper()
	require.NoError(r, os.MkdirAll(filepath.Dir(r.path(name)), 0o700))
	require.NoError(r, os.WriteFile(r.path(name), []byte(content), 0o600))
}

// readOnly makes each write to the baseline fail, as a full disk does.
func (r *rig) readOnly() {
	r.Helper()
	kept, err := r.handler.store(params{})
	require.NoError(r, err)
	kept.lease.close()
	db, err := bbolt.Open(kept.lease.path, 0o600, &bbolt.Options{ReadOnly: true})
	require.NoError(r, err)
	kept.lease.mu.Lock()
	defer kept.lease.mu.Unlock()
	kept.lease.db, kept.lease.openedAt = db, time.Now()
}

// rot changes the content and keeps size and modification time.
func (r *rig) rot(name string) {
	r.Helper()
	info, err := os.Stat(r.path(name))
	require.NoError(r, err)
	content, err := os.ReadFile(r.path(name))
	require.NoError(r, err)
	content[len(content)/2] ^= 0x10
	require.NoError(r, os.WriteFile(r.path(name), content, 0o600))
	require.NoError(r, os.Chtimes(r.path(name), time.Time{}, info.ModTime()))
}

func (r *rig) input() jobtype.DetectInput {
	return jobtype.DetectInput{JobType: "scrub", WorkerID: "node-a", MaxResults: 1000, Params: encodeForTest(r, r.params)}
}

func (r *rig) detect() jobtypetest.Detection {
	r.Helper()
	found := jobtypetest.Detect(r.Context(), r.handler, r.input())
	require.NoError(r, found.Err)
	return found
}

// names are the proposed paths below root, in order.
func (r *rig) names(found jobtypetest.Detection) []string {
	r.Helper()
	names := []string{}
	for _, key := range found.Keys() {
		names = append(names, strings.TrimPrefix(key, r.root+"/"))
	}
	return names
}

func (r *rig) job(proposal jobtype.Proposal) jobtype.Job {
	r.Helper()
	job, err := jobtypetest.JobOf(r.input(), proposal, nil)
	require.NoError(r, err)
	return job
}

// jobFor makes the job of a file whether or not it is due.
func (r *rig) jobFor(name string) jobtype.Job {
	r.Helper()
	info, err := os.Lstat(r.path(name))
	require.NoError(r, err)
	file := newFileParams(name, identityOf(info))
	file.DetectedBy = "node-a"
	return r.job(jobtype.Proposal{Params: encodeForTest(r, map[string]any{"file": file})})
}

func (r *rig) execute(job jobtype.Job, options ...jobtypetest.Option) jobtypetest.Execution {
	r.Helper()
	return jobtypetest.Execute(r.Context(), r.handler, job, options...)
}

// pass runs one detection and all its jobs, and returns the outcomes by name.
func (r *rig) pass() map[string]string {
	r.Helper()
	outcomes := map[string]string{}
	found := r.detect()
	for i, name := range r.names(found) {
		done := r.execute(r.job(found.Proposals[i]))
		if done.Err != nil {
			outcomes[name] = done.Err.Error()
			continue
		}
		outcomes[name], _ = done.Result.Data["outcome"].(string)
	}
	return outcomes
}

func recordAll(t testing.TB, handler *Handler, in jobtype.DetectInput) {
	t.Helper()
	p, err := readParams(in.Params)
	require.NoError(t, err)
	store, err := handler.store(p)
	require.NoError(t, err)
	var all []revision
	for _, proposal := range jobtypetest.Detect(t.Context(), handler, in).Proposals {
		merged, err := readParams(mustOverlay(t, in.Params, proposal.Params))
		require.NoError(t, err)
		r := record{Size: merged.File.Size, MtimeNS: merged.File.MtimeNS, VerifiedAt: time.Now(), RecordedAt: time.Now()}
		all = append(all, revision{kept{path: proposal.DedupeKey}, &r})
	}
	require.NoError(t, store.fill(t.Context(), all))
}

func mustOverlay(t testing.TB, base, over json.RawMessage) json.RawMessage {
	t.Helper()
	merged, err := jobtype.OverlayParams(base, over)
	require.NoError(t, err)
	return merged
}

func TestConformance(t *testing.T) {
	r := newRig(t, "a", "b/c", "b/d")
	jobtypetest.Check(t, r.handler, jobtypetest.Case{Input: r.input()})
}

func TestLifeOfAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "sub/b")
	assert.Equal(t, map[string]string{"a": outcomeBaseline, "sub/b": outcomeBaseline}, r.pass())
	assert.Empty(t, r.pass(), "nothing is due")

	r.now = r.now.Add(30 * 24 * time.Hour)
	assert.Equal(t, map[string]string{"a": outcomeVerified, "sub/b": outcomeVerified}, r.pass())

	r.write("a", "another content")
	assert.Equal(t, map[string]string{"a": outcomeChanged}, r.pass())
	assert.Empty(t, r.pass())
}

func TestRotIsReportedOnAFullDisk(t *testing.T) {
	r := newRig(t, "a")
	r.pass()
	r.rot("a")
	job := r.jobFor("a")
	r.readOnly()
	done := r.execute(job)
	assert.True(t, jobtype.IsPermanent(done.Err))
	require.ErrorContains(t, done.Err, "bit rot")
	assert.ErrorContains(t, done.Err, "(not kept: ")
}

func TestRot(t *testing.T) {
	r := newRig(t, "a", "good")
	before := sha256.Sum256([]byte("content of a"))
	r.pass()
	r.rot("a")
	after, err := os.ReadFile(r.path("a"))
	require.NoError(t, err)
	assert.Empty(t, r.pass(), "not due, so not noticed yet")

	r.now = r.now.Add(31 * 24 * time.Hour)
	job := r.jobFor("a")
	done := r.execute(job)
	require.Error(t, done.Err)
	assert.True(t, jobtype.IsPermanent(done.Err))
	digestAfter := sha256.Sum256(after)
	for _, want := range []string{r.path("a"), hex.EncodeToString(before[:]), hex.EncodeToString(digestAfter[:]), "the baseline of 2026-03-01T00:00:00Z", "restore it from a copy, or touch it"} {
		assert.ErrorContains(t, done.Err, want)
	}

	found := r.detect()
	assert.Equal(t, []string{"a", "good"}, r.names(found))
	assert.Equal(t, jobtype.PriorityCritical, found.Proposals[0].Priority, "rot is proposed again by every detection")
	assert.Contains(t, found.Proposals[0].Summary, "did not match its baseline on 2026-04-01")
	assert.Contains(t, r.pass()["a"], "bit rot")

	t.Run("until it is restored", func(t *testing.T) {
		info, err := os.Stat(r.path("a"))
		require.NoError(t, err)
		r.write("a", "content of a")
		require.NoError(t, os.Chtimes(r.path("a"), time.Time{}, info.ModTime()))
		assert.Equal(t, map[string]string{"a": outcomeVerified}, r.pass())
		assert.Empty(t, r.pass())
	})
	t.Run("or accepted", func(t *testing.T) {
		r.rot("good")
		assert.ErrorContains(t, r.execute(r.jobFor("good")).Err, "bit rot")
		require.NoError(t, os.Chtimes(r.path("good"), time.Time{}, time.Now()))
		assert.Equal(t, map[string]string{"good": outcomeChanged}, r.pass())
	})
}

func TestWriteRightAfterTheBaselineIsNoRot(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	for i := range 30 {
		r.write("a", strings.Repeat(string(rune('a'+i%26)), 10))
		done := r.execute(r.jobFor("a"))
		require.NoError(t, done.Err, "same size, written within milliseconds")
		assert.Contains(t, []any{outcomeBaseline, outcomeChanged}, done.Result.Data["outcome"])
	}
}

func TestVanished(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c/d")
	a, b, d := r.jobFor("a"), r.jobFor("b"), r.jobFor("c/d")
	require.NoError(t, os.Remove(r.path("a")))
	require.NoError(t, os.Remove(r.path("b")))
	require.NoError(t, os.Symlink("c/d", r.path("b")))
	require.NoError(t, os.RemoveAll(r.path("c")))
	r.write("c", "a file where a directory was")
	for _, job := range []jobtype.Job{a, b, d} {
		done := r.execute(job)
		require.NoError(t, done.Err)
		assert.Equal(t, outcomeVanished, done.Result.Data["outcome"])
		assert.Contains(t, done.Result.Summary, "is gone or no regular file any more")
	}
}

// A directory on the path of the file, or about to be walked, became a symbolic link out of the tree.
func TestADirectoryThatBecameALinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "c/d", "keep")
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "d"), []byte("content of c/d"), 0o600))
	d := r.jobFor("c/d")
	swap := func() {
		require.NoError(t, os.RemoveAll(r.path("c")))
		require.NoError(t, os.Symlink(outside, r.path("c")))
	}
	var visited []string
	walker := tree{
		root: r.root, refuse: func(string, error) error { return nil },
		visit: func(directory string, files []found) error {
			if directory == "" {
				swap() // The walk has already seen the directory c.
			}
			for _, file := range files {
				visited = append(visited, file.path)
			}
			return nil
		},
	}
	require.NoError(t, walker.walk(t.Context(), ""))
	assert.Equal(t, []string{"keep"}, visited)

	done := r.execute(d)
	require.NoError(t, done.Err)
	assert.Equal(t, outcomeVanished, done.Result.Data["outcome"])
	r.params["follow_symlinks"] = true
	assert.Equal(t, outcomeBaseline, r.execute(r.jobFor("c/d")).Result.Data["outcome"])
}

func TestMissingRootIsAnErrorEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	job := r.jobFor("a")
	require.NoError(t, os.RemoveAll(r.root))
	require.ErrorContains(t, r.execute(job).Err, "is the disk mounted on this node?")
	found := jobtypetest.Detect(t.Context(), r.handler, r.input())
	require.ErrorContains(t, found.Err, "is the disk mounted on this node?")
	r.write("../"+filepath.Base(r.root), "a file")
	assert.ErrorContains(t, jobtypetest.Detect(t.Context(), r.handler, r.input()).Err, "is no directory")
}

func TestUnreadableFileIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.params["root"] = "/proc/self"
	r.root = "/proc/self"
	done := r.execute(r.jobFor("mem")) // reading address 0 is an input/output error
	require.ErrorContains(t, done.Err, `"/proc/self/mem" cannot be verified: read error at byte 0: read /proc/self/mem: input/output error`)
	assert.False(t, jobtype.IsPermanent(done.Err))
}

func TestForbiddenFileAndDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	r := newRig(t, "a", "closed/b")
	job := r.jobFor("a")
	require.NoError(t, os.Chmod(r.path("a"), 0))
	require.NoError(t, os.Chmod(r.path("closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(r.path("closed"), 0o700) }) //nolint:gosec // a directory
	done := r.execute(job)
	require.ErrorContains(t, done.Err, r.path("a"))
	assert.True(t, jobtype.IsPermanent(done.Err))
	found := r.detect()
	require.Len(t, found.Invalid, 1)
	assert.ErrorContains(t, found.Invalid[0], "closed")
}

func TestChangeWhileReading(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", strings.Repeat("x", 3<<20))
	grow := func(times int) jobtypetest.Option {
		return func(recorder *jobtypetest.Recorder, _ context.CancelCauseFunc) {
			recorder.OnReport = func(n int, _ jobtypetest.Report) {
				if n <= times {
					file, err := os.OpenFile(r.path("a"), os.O_APPEND|os.O_WRONLY, 0)
					assert.NoError(t, err)
					_, err = file.WriteString("more")
					assert.NoError(t, err)
					assert.NoError(t, file.Close())
				}
			}
		}
	}
	done := r.execute(r.jobFor("a"), grow(1))
	require.NoError(t, done.Err)
	assert.Equal(t, outcomeBaseline, done.Result.Data["outcome"])
	content, err := os.ReadFile(r.path("a"))
	require.NoError(t, err)
	want := sha256.Sum256(content)
	assert.Equal(t, hex.EncodeToString(want[:]), done.Result.Data["sha256"], "the digest of the last state")

	done = r.execute(r.jobFor("a"), grow(1000))
	require.NoError(t, done.Err)
	assert.Equal(t, outcomeBusy, done.Result.Data["outcome"])
	assert.Equal(t, []string{"a"}, r.names(r.detect()), "left for the next detection")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", strings.Repeat("x", 8<<20))
	done := r.execute(r.jobFor("a"), jobtypetest.CancelAtReport(2, jobtype.ErrCanceled))
	require.ErrorIs(t, done.Err, jobtype.ErrCanceled)
	require.ErrorContains(t, done.Err, "verification of \""+r.path("a")+"\" stopped")
	assert.Len(t, done.Reports, 2, "within one read")
	assert.Equal(t, "2.0 MiB of 8.0 MiB", done.Reports[1].Message)
	assert.InDelta(t, 25, done.Reports[1].Percent, 0.001)
}

func TestResume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := strings.Repeat("0123456789abcdef", 1<<19) // 8 MiB
	r.write("a", content)
	r.now = r.now.Add(time.Hour)
	first, second := jobtypetest.Resume(t.Context(), r.handler, r.jobFor("a"), 3)
	require.ErrorIs(t, first.Err, jobtype.ErrDraining)
	require.NoError(t, second.Err)
	assert.Equal(t, "4.0 MiB of 8.0 MiB", second.Reports[0].Message, "the first three are not read again")
	want := sha256.Sum256([]byte(content))
	assert.Equal(t, hex.EncodeToString(want[:]), second.Result.Data["sha256"])
}

func TestResumeOnlyTheSameFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", strings.Repeat("a", 4<<20))
	job := r.jobFor("a")
	first := r.execute(job, jobtypetest.CancelAtCheckpoint(2, jobtype.ErrDraining))
	require.ErrorIs(t, first.Err, jobtype.ErrDraining)

	content := strings.Repeat("b", 4<<20)
	r.write("a", content)
	want := sha256.Sum256([]byte(content))
	for _, checkpoint := range []json.RawMessage{first.LastCheckpoint(), json.RawMessage(`"nonsense"`), json.RawMessage(`{"offset":99999999999,"state":"AAAA"}`)} {
		job.Checkpoint = checkpoint
		second := r.execute(job)
		require.NoError(t, second.Err)
		assert.Equal(t, "1.0 MiB of 4.0 MiB", second.Reports[0].Message, "from the beginning")
		assert.Equal(t, hex.EncodeToString(want[:]), second.Result.Data["sha256"])
	}
}

func TestResumeWithADamagedHashStateBeginsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", strings.Repeat("a", 4<<20))
	job := r.jobFor("a")
	first := r.execute(job, jobtypetest.CancelAtCheckpoint(2, jobtype.ErrDraining))
	var damaged map[string]any
	require.NoError(t, json.Unmarshal(first.LastCheckpoint(), &damaged))
	damaged["state"] = []byte("no state of a hash")
	// Numbers went through float64; the identity must still be exact.
	info, err := os.Stat(r.path("a"))
	require.NoError(t, err)
	damaged["mtime_ns"], damaged["inode"] = info.ModTime().UnixNano(), inodeOf(info)
	job.Checkpoint = encodeForTest(t, damaged)
	second := r.execute(job)
	require.NoError(t, second.Err)
	want := sha256.Sum256([]byte(strings.Repeat("a", 4<<20)))
	assert.Equal(t, hex.EncodeToString(want[:]), second.Result.Data["sha256"])
}

func TestNamesThatAreNoUTF8(t *testing.T) {
	t.Parallel()
	r := newRig(t, "caf\xe9/\xff\xfe", "new\nline", `"quoted"`)
	found := r.detect()
	require.Empty(t, found.Invalid)
	require.Len(t, found.Proposals, 3)
	for _, proposal := range found.Proposals {
		done := r.execute(r.job(proposal))
		require.NoError(t, done.Err)
		assert.Equal(t, outcomeBaseline, done.Result.Data["outcome"])
	}
	assert.True(t, slices.ContainsFunc(found.Keys(), func(key string) bool { return strings.HasSuffix(key, `/caf\xe9/\xff\xfe"`) }), "%q", found.Keys())
	assert.Empty(t, r.pass())
}

func TestExecuteRefusesWhatDetectionNeverMade(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	for want, file := range map[string]any{
		"params.file is missing":         nil,
		"is no path below root":          map[string]any{"path": "../etc/passwd"},
		`params.file.path: "/etc" is no`: map[string]any{"path": "/etc"},
		`"" is no path below root`:       map[string]any{},
		"params.file.path_base64":        map[string]any{"path_base64": "?"},
	} {
		done := r.execute(r.job(jobtype.Proposal{Params: encodeForTest(t, map[string]any{"file": file})}))
		require.ErrorContains(t, done.Err, want)
		assert.True(t, jobtype.IsPermanent(done.Err))
	}
}

func TestJobOnAWorkerThatDoesNotSeeTheDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b")
	found := r.detect()
	other := New(Options{DataDir: t.TempDir()})
	t.Cleanup(func() { assert.NoError(t, other.Close()) })
	a, b := r.job(found.Proposals[0]), r.job(found.Proposals[1])
	a.WorkerID, b.WorkerID = "node-b", "node-b"

	done := jobtypetest.Execute(t.Context(), other, a)
	require.NoError(t, done.Err, "the same file through a shared file system")
	assert.Equal(t, outcomeBaseline, done.Result.Data["outcome"])

	require.NoError(t, os.Remove(r.path("b")))
	done = jobtypetest.Execute(t.Context(), other, b)
	require.ErrorContains(t, done.Err, "as node-a detected it is not on node-b: the workers do not share a disk; set `pin: true`")
	assert.True(t, jobtype.IsPermanent(done.Err))
	assert.Equal(t, outcomeVanished, r.execute(b).Result.Data["outcome"], "with the same baseline it is simply gone")
}
