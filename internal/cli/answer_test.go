package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestAnAnswerThatIsLostIsAFailure: a command whose answer cannot be written fails, in both formats.
func TestAnAnswerThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}} {
		var stderr bytes.Buffer
		code := Run(t.Context(), ui.Env{Stdout: full{}, Stderr: &stderr, Now: time.Now}, args)
		assert.Equal(t, ui.ExitFailed, code, args)
		assert.Contains(t, stderr.String(), "no space left on device")
	}
}

// TestWhoDoesNotWaitForTheAnswerIsTold: after an interrupt the error warns that the request may be carried
// out.
func TestWhoDoesNotWaitForTheAnswerIsTold(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for want, err := range map[string]error{
		"roundsman: interrupted\n": fmt.Errorf("query workers of fleet: %w", context.Canceled),
		"roundsman: interrupted before the answer: the request may still take effect; check before you repeat it\n": fmt.Errorf("drain worker node-a: %w",
			&starter.GivenUpError{Asked: "update operate-worker of fleet", Cause: context.Canceled}),
	} {
		var stderr bytes.Buffer
		assert.Equal(t, ui.ExitFailed, ui.Env{Stderr: &stderr}.Finish(ctx, err))
		assert.Equal(t, want, stderr.String())
	}
}

// TestWhatWasGivenWronglyIsAFaultOfUsage: a wrong argument is a fault of usage, also if only the server finds
// it.
func TestWhatWasGivenWronglyIsAFaultOfUsage(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		fmt.Errorf("set: %w", starter.Invalidf("retry_limit: 700 is out of range")): ui.ExitUsage,
		&ui.ExitError{Code: ui.ExitDifference, Err: starter.Invalidf("differs")}:    ui.ExitDifference,
		fmt.Errorf("set: %w", starter.ErrNotFound):                                  ui.ExitFailed,
	} {
		assert.Equal(t, want, ui.Env{Stderr: io.Discard}.Finish(t.Context(), err), err.Error())
	}
}

// TestWhatIsNotUTF8IsRefused: an argument that is not UTF-8 is refused by name, before any request.
func TestWhatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("explain", "a\xffb").Exits(ui.ExitUsage).Complains(`argument "a\xffb" is not UTF-8`)
	h.run("pause", "scrub", "--note", "\xff").Exits(ui.ExitUsage).Complains(`--reason "\xff" is not UTF-8`)
}

// TestNamesThatNothingCanHave: an impossible name is refused in terms of roundsman. A missing namespace comes
// with its remedy.
func TestNamesThatNothingCanHave(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t)
	h := offline(t).at(server.Address())
	h.run("explain", "日本").Exits(ui.ExitFailed).Complains("日本 is no job type, worker, run, job, DAG or receiver")
	h.run("jobtypes", "--namespace", "nowhere").Exits(ui.ExitFailed).Complains("nowhere", "namespace create --namespace nowhere")
	o := h.run("doctor", "--namespace", "nowhere").Exits(ui.ExitFailed).Says(`"nowhere" does not exist`)
	assert.NotContains(t, o.Stdout, "control plane", "without a namespace there is none to look for")
}
