package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
	"github.com/roundsman/roundsman/jobtype"
)

// treeAt is a tree with these controllers in a directory that is no cgroup.
func treeAt(base string, controllers ...string) *Tree {
	t := &Tree{}
	t.once.Do(func() { t.base, t.controllers = base, controllers })
	return t
}

func all() rlimit.Limits {
	return rlimit.Limits{Memory: 64 << 20, PIDs: 9, OpenFiles: 100, CPU: rlimit.CPU{Cores: 0.25}}
}

// Limits without a controller are left to the resource limits of the processes.
func TestRest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		controllers []string
		want        rlimit.Limits
	}{
		{nil, all()},
		{[]string{memory}, rlimit.Limits{PIDs: 9, OpenFiles: 100, CPU: rlimit.CPU{Cores: 0.25}}},
		{[]string{cpu, pids}, rlimit.Limits{Memory: 64 << 20, OpenFiles: 100}},
		{[]string{memory, cpu, pids}, rlimit.Limits{OpenFiles: 100}},
	} {
		assert.Equal(t, row.want, treeAt("/none", row.controllers...).Rest(all()), row.controllers)
	}
	spent := rlimit.Limits{CPU: rlimit.CPU{Time: jobtype.Duration(60e9)}}
	assert.Equal(t, spent, treeAt("/none", cpu).Rest(spent), "no cgroup bounds the CPU time of a process")
}

func TestACgroupHasTheLimits(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	read := func(directory, file string) string {
		text, err := os.ReadFile(filepath.Join(directory, file))
		require.NoError(t, err)
		return string(text)
	}
	prepare := func(directory string) { // A kernel makes the files; they cannot be made here without a mode.
		for _, file := range []string{"memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max"} {
			require.NoError(t, os.WriteFile(filepath.Join(directory, file), nil, 0o600))
		}
	}
	tree := treeAt(base, memory, cpu, pids)
	directory := filepath.Join(base, prefix+"x")
	require.NoError(t, os.Mkdir(directory, 0o700))
	prepare(directory)
	require.NoError(t, tree.bound(directory, all()))
	for file, want := range map[string]string{"memory.max": "67108864", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "9", "cpu.max": "25000 100000"} {
		assert.Equal(t, want, read(directory, file), file)
	}
	prepare(directory)
	require.NoError(t, treeAt(base, pids).bound(directory, all()))
	assert.Equal(t, "9", read(directory, "pids.max"))
	assert.Empty(t, read(directory, "memory.max")+read(directory, "cpu.max"), "no controller has them")
	prepare(directory)
	require.NoError(t, tree.bound(directory, rlimit.Limits{OpenFiles: 3}))
	assert.Empty(t, read(directory, "pids.max")+read(directory, "memory.max")+read(directory, "cpu.max"), "there is no limit")

	_, err := tree.Create("x", all())
	require.ErrorContains(t, err, "limits: ", "a cgroup of this name exists")
	made, err := tree.Create("x", rlimit.Limits{OpenFiles: 3})
	require.NoError(t, err, "the program starts without a cgroup, which no limit needs")
	assert.Empty(t, made)
	made, err = tree.Create("y", rlimit.Limits{})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(base, prefix+"y"), made)
	made, err = treeAt("").Create("z", all())
	require.NoError(t, err)
	assert.Empty(t, made)
}

func TestMembersAndRemovalReachChildren(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	child := filepath.Join(base, "program-x", "a", "b")
	require.NoError(t, os.MkdirAll(child, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(base, "program-x", "cgroup.procs"), []byte("12\n13\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(child, "cgroup.procs"), []byte("0\n14\n"), 0o600))
	top := filepath.Join(base, "program-x")
	assert.Equal(t, []int{12, 13, 14}, Members(top), "0 is a process of another namespace")
	assert.Empty(t, Members(filepath.Join(base, "gone")))
	assert.Empty(t, Members(""))
	for _, directory := range []string{top, child} {
		require.NoError(t, os.Remove(filepath.Join(directory, "cgroup.procs"))) // A kernel removes them itself.
	}
	Remove("")
	Remove(top)
	assert.NoDirExists(t, top)
}
