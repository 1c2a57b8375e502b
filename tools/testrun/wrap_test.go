package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linker stands in for the linker of Go. It writes down each call.
const linker = "#!/bin/sh\necho called >>\"$0.calls\"\nfor last; do :; done\n[ \"$last\" != broken ] || exit 3\necho \"made of $last\" >\"$2\"\n"

type linking struct {
	t    *testing.T
	dir  string
	link string
}

func newLinking(t *testing.T) *linking {
	t.Helper()
	l := &linking{t: t, dir: t.TempDir()}
	l.link = filepath.Join(l.dir, "link")
	require.NoError(t, os.WriteFile(l.link, []byte(linker), 0o700))
	return l
}

// run links from to a file of that name, and returns its text and the calls of the linker so far.
func (l *linking) run(name, id, from string, flags ...string) (text string, calls int) {
	l.t.Helper()
	out := filepath.Join(l.t.TempDir(), name)
	args := append(append([]string{"-o", out}, flags...), "-buildid="+id, from)
	require.Zero(l.t, tool(l.link, args, filepath.Join(l.dir, "links")))
	made, err := os.ReadFile(out)
	require.NoError(l.t, err)
	written, err := os.ReadFile(l.link + ".calls")
	require.NoError(l.t, err)
	return strings.TrimSpace(string(made)), strings.Count(string(written), "\n")
}

func TestATestBinaryIsLinkedOnce(t *testing.T) {
	t.Parallel()
	l := newLinking(t)
	for i, c := range []struct {
		name, id, from, want string
		flags                []string
		calls                int
	}{
		{name: "p.test", id: "1/1", from: "a", want: "made of a", calls: 1},
		{name: "p.test", id: "1/1", from: "not read", want: "made of a", calls: 1},
		{name: "p.test", id: "1/1", from: "race", flags: []string{"-race"}, want: "made of race", calls: 2},
		{name: "p.test", id: "2/2", from: "b", want: "made of b", calls: 3},
		{name: "p.test", id: "1/1", from: "c", want: "made of c", calls: 4},
		{name: "p.test", id: "1/1", from: "not read", flags: []string{"-race"}, want: "made of race", calls: 4},
		{name: "program", id: "3/3", from: "d", want: "made of d", calls: 5},
		{name: "program", id: "3/3", from: "e", want: "made of e", calls: 6},
	} {
		text, calls := l.run(c.name, c.id, c.from, c.flags...)
		assert.Equal(t, c.want, text, i)
		assert.Equal(t, c.calls, calls, i)
	}
	kept, err := filepath.Glob(filepath.Join(l.dir, "links", "*", "*"))
	require.NoError(t, err)
	assert.Len(t, kept, 2, "the last one of each kind")
}

func TestALinkThatFailsIsNotKept(t *testing.T) {
	t.Parallel()
	l := newLinking(t)
	args := []string{"-o", filepath.Join(l.dir, "p.test"), "-buildid=1/1", "broken"}
	assert.Equal(t, 3, tool(l.link, args, filepath.Join(l.dir, "links")))
	text, calls := l.run("p.test", "1/1", "whole")
	assert.Equal(t, "made of whole", text)
	assert.Equal(t, 2, calls)
}

func TestOtherToolsPass(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 7, tool("sh", []string{"-c", "exit 7"}, t.TempDir()))
	assert.Equal(t, 2, tool("/no/such/tool", nil, t.TempDir()))
	assert.Equal(t, 128, tool("sh", []string{"-c", "kill -9 $$"}, t.TempDir()))
}
