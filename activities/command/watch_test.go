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
// children; a program that hangs has none.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		lives  bool
	}{
		"it hangs":                     {"sleep 1.5", false},
		"it prints":                    {"for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep .15; done", true},
		"it prints errors":             {"for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >&2; sleep .15; done", true},
		"it computes":                  {"timeout 1.5 sh -c 'while :; do :; done'", true},
		"what left its group computes": {"setsid timeout 1.5 sh -c 'while :; do :; done' & wait", true},
		"it copies":                    {"(for i in 1 2 3 4 5 6 7 8 9 10; do head -c 65536 /dev/zero; sleep .15; done) | cat > /dev/null", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for liveness, watched := range map[jobtype.Liveness]bool{jobtype.LivenessActivity: true, jobtype.LivenessProcess: true, jobtype.LivenessProgress: false} {
				got := execute(t, shell(c.script), jobtype.Job{Liveness: liveness, StallTimeout: jobtype.Duration(time.Second)})
				if c.lives && watched {
					assert.Greater(t, got.Alive, 2, "more than its start and its end")
				} else {
					assert.LessOrEqual(t, got.Alive, 2, "its start and its end at most")
				}
			}
		})
	}
}

// The program that prints a secret shows signs of life, too: a slow one is no hang.
func TestSignsOfLifeOfASecret(t *testing.T) {
	t.Parallel()
	slow := []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep .15; done"}
	got := execute(t, shell("true").with(block{"env": block{"S": block{"command": slow}}}), jobtype.Job{Liveness: jobtype.LivenessActivity, StallTimeout: jobtype.Duration(time.Second)})
	require.NoError(t, got.Err)
	assert.Greater(t, got.Alive, 2, "more than its start and its end")
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
