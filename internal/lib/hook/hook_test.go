package hook_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/hook"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	exited := func(code int) jobtype.Result { return jobtype.Result{Data: map[string]any{"exit_code": code}} }
	for _, c := range []struct {
		result jobtype.Result
		err    error
		want   string
		failed bool
	}{
		{exited(0), nil, "success 0", false},
		{jobtype.Result{Warning: "w", Data: map[string]any{"exit_code": 1}}, nil, "warning 1", false},
		{exited(3), errors.New("x"), "failure 3", true},
		{exited(-1), errors.New("killed by a signal"), "failure ", true},
		{exited(75), fmt.Errorf("hook: %w", jobtype.Defer(1, "x")), "deferred 75", false},
		{jobtype.Result{}, fmt.Errorf("x: %w", jobtype.ErrCanceled), "canceled ", false},
		{jobtype.Result{}, fmt.Errorf("x: %w", jobtype.ErrDeadline), "timeout ", true},
		{jobtype.Result{}, fmt.Errorf("x: %w", jobtype.ErrDisconnected), "stopped ", false},
		{jobtype.Result{}, fmt.Errorf("x: %w", jobtype.ErrLeaseLost), "stopped ", false},
	} {
		got := hook.Of(c.result, c.err)
		outcome, code, _ := strings.Cut(c.want, " ")
		assert.Equal(t, []string{"ROUNDSMAN_OUTCOME=" + outcome, "ROUNDSMAN_EXIT_CODE=" + code}, got.Environment())
		assert.Equal(t, c.failed, got.Failed(), c.want)
	}
}

func TestEachLineHasItsMarkHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	marked := hook.Marked(&out, "[finally] ")
	for _, part := range []string{"o", "ne\n\ntw", "", "o\n", "three"} {
		n, err := marked.Write([]byte(part))
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	assert.Equal(t, "[finally] one\n[finally] \n[finally] two\n[finally] three", out.String())
}

func TestWhatIsOwedIsReadByTheNextProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	read := func() []*hook.Owed {
		list, err := hook.Read(dir)
		require.NoError(t, err)
		return list
	}
	both := launch.Hooks{OnFailure: []string{"alarm"}, Finally: []string{"umount", "/x"}}
	owe := func(name string) *hook.Owed {
		owed := &hook.Owed{Job: "g/" + name, Attempt: 2, Launch: launch.Spec{Dir: "/srv", Hooks: both}, Outcome: hook.Outcome{Kind: hook.Lost, Code: -1}, Pending: both.All()}
		require.NoError(t, owed.Open(dir, name))
		return owed
	}
	first := owe("a")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torn.hooks.json"), []byte(`{"job":`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.hooks.json.new"), []byte(`{}`), 0o600))
	left := read()
	require.Len(t, left, 1)
	assert.Equal(t, "g/a", left[0].Job)
	assert.Equal(t, both.All(), left[0].Pending)
	assert.True(t, left[0].Outcome.Failed())

	require.NoError(t, first.Settle(hook.Outcome{Kind: hook.Failure, Code: 3}))
	require.NoError(t, first.Done())
	left = read()
	require.Len(t, left, 1)
	assert.Equal(t, "finally", left[0].Next().Name)
	assert.Equal(t, hook.Outcome{Kind: hook.Failure, Code: 3}, left[0].Outcome)
	require.NoError(t, left[0].Done())
	assert.Nil(t, left[0].Next())
	assert.Empty(t, read())

	second := owe("c")
	require.NoError(t, second.Settle(hook.Outcome{Kind: hook.Success}))
	assert.Equal(t, "finally", second.Next().Name, "no failure, so no on_failure")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "c.hooks.json")}, files)
}

// A file that cannot be read now, as with too many open files, is still owed.
func TestWhatCannotBeReadStaysOwed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hidden := filepath.Join(dir, "hidden.hooks.json")
	require.NoError(t, os.Mkdir(hidden, 0o700))
	owed := &hook.Owed{Job: "g/a", Pending: launch.Hooks{Finally: []string{"umount", "/x"}}.All()}
	require.NoError(t, owed.Open(dir, "a"))
	left, err := hook.Read(dir)
	require.ErrorContains(t, err, hidden)
	assert.Len(t, left, 1, "the others run")
	assert.DirExists(t, hidden)
}
