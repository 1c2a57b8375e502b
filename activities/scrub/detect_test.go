package scrub

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

func TestDetectOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, "z", "dir/b", "dir/a", "a", "dir.x")
	found := r.detect()
	assert.Equal(t, []string{"a", "dir.x", "z", "dir/a", "dir/b"}, r.names(found), "files before sub-directories, in byte order")
	for _, proposal := range found.Proposals {
		assert.Equal(t, jobtype.PriorityHigh, proposal.Priority)
		assert.Empty(t, proposal.Node)
	}
	assert.Equal(t, "verify a (12 B, never verified)", found.Proposals[0].Summary)

	for i, name := range []string{"z", "a", "dir/a"} {
		r.now = r.now.Add(time.Duration(i) * time.Hour)
		require.NoError(t, r.execute(r.jobFor(name)).Err)
	}
	r.write("a", "written again")
	r.now = r.now.Add(40 * 24 * time.Hour)
	found = r.detect()
	assert.Equal(t, []string{"a", "dir.x", "dir/b", "z", "dir/a"}, r.names(found), "those due come last, the longest unverified first")
	assert.Equal(t, []jobtype.Priority{"normal", "high", "high", "normal", "normal"}, prioritiesOf(found))
	assert.Contains(t, found.Proposals[0].Summary, "changed since its last verification")
	assert.Contains(t, found.Proposals[3].Summary, "last verified 2026-03-01")
}

func prioritiesOf(found jobtypetest.Detection) []jobtype.Priority {
	priorities := []jobtype.Priority{}
	for _, proposal := range found.Proposals {
		priorities = append(priorities, proposal.Priority)
	}
	return priorities
}

func TestReverifyAfterZeroVerifiesEverythingEveryTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	r.params["reverify_after"] = "0s"
	assert.Equal(t, map[string]string{"a": outcomeBaseline}, r.pass())
	assert.Equal(t, map[string]string{"a": outcomeVerified}, r.pass())
}

func TestPin(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	r.params["pin"] = true
	found := r.detect()
	assert.Equal(t, "node-a", found.Proposals[0].Node)
	assert.Equal(t, []string{"node-a:" + r.path("a")}, found.Keys(), "the same path on another node is another file")
}

func TestSelection(t *testing.T) {
	t.Parallel()
	r := newRig(t, "keep", "large", ".git/config", "src/x.tmp", "src/deep/build/out", "src/build/out", "docs/a/b/c.md")
	r.write("large", strings.Repeat("x", 1000))
	require.NoError(t, os.Symlink("keep", r.path("link")))
	require.NoError(t, os.Symlink("docs", r.path("linked")))
	require.NoError(t, os.Symlink("..", r.path("docs/circle")))
	require.NoError(t, os.Symlink("nowhere", r.path("dangling")))

	all := []string{"keep", "large", ".git/config", "docs/a/b/c.md", "src/x.tmp", "src/build/out", "src/deep/build/out"}
	assert.Equal(t, all, r.names(r.detect()), "nothing is left out silently, links are not followed")

	r.params["exclude"] = []string{".git", "*.tmp", "src/**/build", "/docs/a/*/c.md"}
	r.params["max_file_size"] = 999
	assert.Equal(t, []string{"keep"}, r.names(r.detect()))

	r.params["follow_symlinks"] = true
	assert.Equal(t, []string{"keep", "link"}, r.names(r.detect()), "circle and linked lead to directories that were visited")
	r.params["exclude"] = []string{"docs"}
	assert.Equal(t, []string{"keep", "link", ".git/config", "linked/a/b/c.md", "src/x.tmp", "src/build/out", "src/deep/build/out"}, r.names(r.detect()))
}

func TestOneFilesystem(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "mounted/b")
	info, err := os.Stat(r.path("mounted"))
	require.NoError(t, err)
	tree := tree{oneFilesystem: true, device: deviceOf(info)}
	assert.True(t, tree.enters(info))
	tree.device++
	assert.False(t, tree.enters(info))
	tree.oneFilesystem = false
	assert.True(t, tree.enters(info))

	r.params["one_filesystem"] = true
	assert.Equal(t, []string{"a", "mounted/b"}, r.names(r.detect()))
}

func TestFullGroupDoesNotStarveTheRestOfTheTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, directory := range []string{"a", "b", "c"} {
		for i := range 150 {
			r.write(directory+"/"+strconv.Itoa(1000+i), "x")
		}
	}
	input := r.input()
	input.MaxResults = 100
	firsts := []string{}
	for range 4 {
		found := jobtypetest.Detect(t.Context(), r.handler, input)
		require.NoError(t, found.Err)
		require.Len(t, found.Proposals, 100)
		assert.Equal(t, 100, found.Surplus, "the page that did not fit")
		firsts = append(firsts, r.names(found)[0])
	}
	assert.Equal(t, []string{"a/1000", "b/1000", "c/1000", "a/1000"}, firsts, "each begins where the last one was full")
}

// hurried is a context whose deadline is near but never comes.
type hurried struct{ context.Context } //nolint:containedctx // it is one

func (hurried) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestWalkIsTimeBoxedAndGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, "0", "a/1", "a/x/1", "b/1", "c/1")
	var walks [][]string
	for range 6 {
		found := jobtypetest.Detect(hurried{t.Context()}, r.handler, r.input())
		require.NoError(t, found.Err)
		walks = append(walks, r.names(found))
	}
	assert.Equal(t, [][]string{{"0"}, {"a/1"}, {"a/x/1"}, {"b/1"}, {"c/1"}, {"0"}}, walks, "one directory each, round and round")

	assert.Equal(t, []string{"a/1", "a/x/1", "b/1", "c/1", "0"}, r.names(r.detect()), "with time enough, all, from there")
	assert.Equal(t, []string{"0", "a/1", "a/x/1", "b/1", "c/1"}, r.names(r.detect()), "and then from the beginning")
}

func TestDryRunLeavesNoTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "0", "b/1")
	input := r.input()
	input.DryRun = true
	for range 2 {
		found := jobtypetest.Detect(hurried{t.Context()}, r.handler, input)
		require.NoError(t, found.Err)
		assert.Equal(t, []string{"0"}, r.names(found))
	}
}

func TestSweepForgetsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, "stays", "gone", "back")
	r.pass()
	recorded := func(name string) *record {
		p, err := readParams(r.input().Params)
		require.NoError(t, err)
		store, err := r.handler.store(p)
		require.NoError(t, err)
		records, err := store.lookup(t.Context(), r.path(name))
		require.NoError(t, err)
		return records[0]
	}
	require.NoError(t, os.Remove(r.path("gone")))
	require.NoError(t, os.Rename(r.path("back"), r.path(".hidden")))
	r.params["exclude"] = []string{".hidden"}
	r.detect()
	assert.Equal(t, r.now, recorded("gone").MissingSince)
	assert.Equal(t, r.now, recorded("back").MissingSince)

	require.NoError(t, os.Rename(r.path(".hidden"), r.path("back")))
	r.now = r.now.Add(89 * 24 * time.Hour)
	r.detect()
	require.NotNil(t, recorded("gone"))
	assert.Zero(t, recorded("back").MissingSince)

	r.now = r.now.Add(24 * time.Hour)
	r.detect()
	assert.Nil(t, recorded("gone"))
	assert.NotNil(t, recorded("back"))
	assert.NotNil(t, recorded("stays"))
}

func TestDetectStopsWithItsContextAndItsSink(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a/1", "b/1")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(jobtype.ErrDeadline)
	require.ErrorIs(t, jobtypetest.Detect(ctx, r.handler, r.input()).Err, jobtype.ErrDeadline)
	broken := brokenSink{errors.New("the group is gone")}
	require.ErrorIs(t, r.handler.Detect(t.Context(), r.input(), broken), broken.error)
}

type brokenSink struct{ error }

func (s brokenSink) Emit(context.Context, ...jobtype.Proposal) error { return s.error }

func TestOldestKeepsTheOldest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ages := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "ages")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		o := newOldest(limit)
		var all []candidate
		for i, age := range ages {
			c := candidate{found{path: filepath.Join("p", string(rune('a'+i%26)), string(rune('a'+i/26%26)))}, time.Unix(int64(age), 0)}
			all = append(all, c)
			o.add(c)
		}
		slices.SortFunc(all, compare)
		require.Equal(t, append([]candidate{}, all[:min(len(all), limit+1)]...), append([]candidate{}, o.sorted()...))
	})
}

func TestExclusion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.log", "a.log", true},
		{"*.log", "x/y/a.log", true},
		{"node_modules", "web/node_modules", true},
		{"/bin", "bin", true},
		{"/bin", "x/bin", false},
		{"bin/", "x/bin", true},
		{"a/*/c", "a/b/c", true},
		{"a/*/c", "a/b/b/c", false},
		{"a/**/c", "a/c", true},
		{"a/**/c", "a/b/b/c", true},
		{"**/c", "c", true},
		{"**/c", "x/c", true},
		{"a/**", "a/b/c", true},
		{"a/**", "b/a/c", false},
		{"a/b", "a", false},
		{"[ab]", "b", true},
	} {
		e, err := newExclusion([]string{c.glob})
		require.NoError(t, err)
		assert.Equal(t, c.want, e.matches(c.path), "%s on %s", c.glob, c.path)
	}
}

func TestParamFaults(t *testing.T) {
	t.Parallel()
	handler := New(Options{})
	for want, params := range map[string]string{
		"needs at least `params: {root: DIRECTORY}`": ``,
		"params.root: name the directory":            `{}`,
		`unknown field "rot"`:                        `{"rot":"/"}`,
		"write it as text with a unit":               `{"root":"/","reverify_after":30}`,
		"params.reverify_after: must not be":         `{"root":"/","reverify_after":"-1s"}`,
		"params.forget_after: must be at least 24h":  `{"root":"/","forget_after":"1h"}`,
		"params.max_file_size":                       `{"root":"/","max_file_size":-1}`,
		`params.exclude[1]: "a/[" is no glob`:        `{"root":"/","exclude":["ok","a/["]}`,
		`params.exclude[0]: "/" matches nothing`:     `{"root":"/","exclude":["/"]}`,
	} {
		require.ErrorContains(t, handler.ValidateSettings(json.RawMessage(params), nil, nil), want)
		assert.True(t, jobtype.IsPermanent(handler.Detect(t.Context(), jobtype.DetectInput{Params: json.RawMessage(params)}, nil)), params)
	}
	require.NoError(t, handler.ValidateSettings(json.RawMessage(`{"root":"/"}`), nil, nil))
	require.ErrorContains(t, handler.ValidateSettings(json.RawMessage(`{"root":"/"}`), json.RawMessage(`{}`), nil), "takes no `detect:`")
}

func TestWalkVisitsEveryDirectoryOnceWhereverItStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a/f", "a/b/f", "a/b/c/f", "a.b/f", "a-b/f", "z/f", "z/y/f")
	var whole []string
	collect := func(into *[]string) tree {
		return tree{
			root:   r.root,
			visit:  func(directory string, _ []found) error { *into = append(*into, directory); return nil },
			refuse: func(_ string, err error) error { return err },
		}
	}
	first := collect(&whole)
	require.NoError(t, first.walk(t.Context(), ""))
	require.Len(t, whole, 8)
	starts := append(slices.Clone(whole), "a/gone", "a/b/c/gone/deeper", "0", "zz")
	for _, from := range starts {
		var got []string
		walker := collect(&got)
		require.NoError(t, walker.walk(t.Context(), from))
		if i := slices.Index(whole, from); i >= 0 {
			assert.Equal(t, slices.Concat(whole[i:], whole[:i]), got, "from %q", from)
		}
		slices.Sort(got)
		assert.Equal(t, slices.Sorted(slices.Values(whole)), got, "from %q", from)
	}
}
