package seaweedfs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// TestRealKillsInEveryStep ends the worker of an encoding, a vacuum and a shard move in every step, as SIGKILL
// does. The next attempt has no checkpoint, as after a lost heartbeat.
func TestRealKillsInEveryStep(t *testing.T) {
	for _, c := range []struct {
		handler, settings string
		stages            []string
	}{
		{"vacuum", `"garbage_threshold":0.0001`, []string{"vacuum-check", "vacuum-compact", "vacuum-commit", "mark-writable"}},
		{"erasure_coding", `"quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1`, []string{"mark-readonly", "ec-generate", "ec-copy", "ec-mount", "delete", "ec-delete"}},
		{"ec_balance", `"imbalance_threshold":0,"min_server_count":2`, []string{"ec-copy", "ec-mount", "ec-unmount", "ec-delete"}},
	} {
		t.Run(c.handler, func(t *testing.T) {
			s := newSite(t)
			s.Grow(len(c.stages)+1, "000", s.Servers()[0])
			s.Write(40*(len(c.stages)+1), 60_000, "000")
			s.Heartbeat()
			if c.handler == "ec_balance" {
				s.run("erasure_coding", fmt.Sprintf(`{"collection_filter":"^%s$","quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`, s.Collection))
			}
			params := fmt.Sprintf(`{"collection_filter":"^%s$",%s}`, s.Collection, c.settings)
			for _, stage := range c.stages {
				found := jobtypetest.Detect(t.Context(), s.handlers[c.handler], s.input(params))
				require.NoError(t, found.Err)
				if len(found.Proposals) == 0 {
					t.Logf("%s: nothing is left to do: %s", stage, strings.Join(found.Explanations, "; "))
					continue
				}
				job, err := jobtypetest.JobOf(s.input(params), found.Proposals[0], nil)
				require.NoError(t, err)
				ctx, kill := context.WithCancelCause(t.Context())
				killed := jobtypetest.Execute(ctx, &killer{Handler: s.process()[c.handler], stage: stage, kill: kill, soon: c.handler != "erasure_coding"}, job)
				job.Attempt = 2
				done := jobtypetest.Execute(t.Context(), s.handlers[c.handler], job)
				t.Logf("%s: %s: %v; then %s", found.Proposals[0].Summary, stage, killed.Err, done.Result.Summary)
				assert.NoError(t, done.Err, stage)
				assert.NotContains(t, done.Result.Summary, "left behind", stage)
				s.Heartbeat()
				s.Verify()
			}
			s.Whole()
		})
	}
}
