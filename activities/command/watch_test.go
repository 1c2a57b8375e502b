package command_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// The signs of life of a program are output, CPU time, I/O and processes that come and go, of itself and of its
// children; a program that hangs has none. A program with signs of life runs until enough of them were seen.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		lives  bool
	}{
		"it hangs":                     {"sleep 1.5", false},
		"it prints":                    {"while more; do echo x; sleep .15; done", true},
		"it prints errors":             {"while more; do echo x >&2; sleep .15; done", true},
		"it computes":                  {"timeout $3 sh -c 'while [ ! -e $0 ]; do :; done' $1", true},
		"what left its group computes": {"setsid timeout $3 sh -c 'while [ ! -e $0 ]; do :; done' $1 & wait", true},
		"it copies":                    {"(while more; do head -c 65536 /dev/zero; sleep .15; done) | cat > /dev/null", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for liveness, watched := range map[jobtype.Liveness]bool{jobtype.LivenessActivity: true, jobtype.LivenessProcess: true, jobtype.LivenessProgress: false} {
				rounds, seconds := "10", "1.5"
				if c.lives && watched {
					rounds, seconds = "1000", "150"
				}
				job := jobtype.Job{Liveness: liveness, StallTimeout: jobtype.Duration(time.Second)}
				alive := aliveOf(t, func(enough string) block { return shell(lasting+c.script, enough, rounds, seconds) }, job)
				if c.lives && watched {
					assert.Greater(t, alive, 2, "more than its start and its end")
				} else {
					assert.LessOrEqual(t, alive, 2, "its start and its end at most")
				}
			}
		})
	}
}

// lasting defines more, which succeeds until the file $1 is there, at most $2 times.
const lasting = `file=$1; most=$2; n=0; more() { n=$((n+1)); [ ! -e "$file" ] && [ "$n" -le "$most" ]; }; `

// aliveOf counts the signs of life of a program, to which settings passes the file that is there after the third.
func aliveOf(t *testing.T, settings func(enough string) block, job jobtype.Job) int {
	t.Helper()
	enough := filepath.Join(t.TempDir(), "enough")
	recorder := &jobtypetest.Recorder{OnAlive: func(n int) {
		if n > 2 {
			assert.NoError(t, os.WriteFile(enough, nil, 0o600))
		}
	}}
	job.Settings = raw(t, settings(enough))
	_, err := newHandler(300*time.Millisecond).Execute(t.Context(), job, recorder)
	if err != nil {
		t.Logf("it ended with %v", err) // A program that computes is ended by timeout.
	}
	return recorder.AliveCount()
}

// The program that prints a secret shows signs of life, too: a slow one is no hang.
func TestSignsOfLifeOfASecret(t *testing.T) {
	t.Parallel()
	alive := aliveOf(t, func(enough string) block {
		slow := []string{"sh", "-c", lasting + "while more; do echo x; sleep .15; done", "sh", enough, "1000"}
		return shell("true").with(block{"env": block{"S": block{"command": slow}}})
	}, jobtype.Job{Liveness: jobtype.LivenessActivity, StallTimeout: jobtype.Duration(time.Second)})
	assert.Greater(t, alive, 2, "more than its start and its end")
}

// aliveSink counts signs of life.
type aliveSink struct {
	jobtype.ProposalSink
	alive atomic.Int64
}

// Alive implements [jobtype.Alive].
func (s *aliveSink) Alive() { s.alive.Add(1) }

func TestDetectionsShowSignsOfLife(t *testing.T) {
	t.Parallel()
	sink := &aliveSink{ProposalSink: &jobtypetest.Sink{}}
	enough, ended := filepath.Join(t.TempDir(), "enough"), make(chan error, 1)
	in := jobtype.DetectInput{
		Settings: raw(t, shell("while [ ! -e "+enough+" ]; do :; done")),
		Liveness: jobtype.LivenessActivity, StallTimeout: jobtype.Duration(2 * time.Second),
	}
	go func() { ended <- newHandler(0).Detect(t.Context(), in, sink) }()
	require.Eventually(t, func() bool { return sink.alive.Load() > 4 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(enough, nil, 0o600))
	require.NoError(t, <-ended)
}
