package command_test

import (
	"os/user"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/jobtype"
)

// A node looks up users and reads secrets before it starts a program. A lack of room for that fails no job, either. Not
// parallel: the limit is that of the process.
func TestANodeWithoutFileDescriptors(t *testing.T) { //nolint:paralleltest // see above
	self, err := user.Current()
	require.NoError(t, err)
	file := secretFile(t, "A=secret")
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit))
	for name, keys := range map[string]block{
		"a program": {}, "a user": {"user": self.Username}, "a group": {"group": "no-such-group"}, "groups": {"groups": []string{"no-such-group"}},
		"the file of a secret": {"env": block{"S": block{"file": file}}}, "the program of a secret": {"env": block{"S": block{"command": []string{"echo", "secret"}}}},
		"a file of variables": {"env_file": file}, "a file as the input": {"stdin": "file:" + file},
	} {
		require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}, nil))
		got := execute(t, shell("true").with(keys), jobtype.Job{})
		require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil))
		require.ErrorIs(t, got.Err, jobtype.ErrCannotStart, name)
		assert.False(t, jobtype.IsPermanent(got.Err), name)
	}
}
