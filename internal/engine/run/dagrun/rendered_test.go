package dagrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const reacts = `
version: 1
name: reacts
tasks:
  - {id: a, command: [x]}
  - {id: b, command: [y]}
  - {id: repair, needs: [a, b], trigger_rule: one_failed, when: '{{eq .Needs.a.State "failed"}}', params: {n: 9007199254740993},
     command: [repair, "{{.Needs.a.State}}", '{{if eq .Needs.b.State "completed"}}{{.Needs.b.Result.v}}{{end}}'], retries: {limit: 2, backoff: 3s}}
`

// A begun task keeps its rendered templates across continue-as-new, even if they would render differently by then, or
// fail.
func TestAStartedTaskStaysWhatItWas(t *testing.T) {
	t.Parallel()
	cfg := dagrun.Config{RollEvents: 1}
	p := start(t, reacts, cfg)
	p.workers(worker("w", 4))
	p.ended("a", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	was := []string{"repair", "failed", ""}
	require.Equal(t, was, p.running["repair"].Job.Command)
	p.ended("repair", run.Ending{Failure: contract.FailureFailed, Message: "not yet"})
	p.ended("b", run.Ending{}) // It has no v.
	decisions, _, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Retry, Tasks: []string{"a"}})
	require.NoError(t, err)
	p.do(decisions)
	p.ended("a", run.Ending{})
	for range 2 {
		p.roll(cfg)
	}
	p.pass(3 * time.Second)
	require.Contains(t, p.running, "repair")
	assert.Equal(t, was, p.running["repair"].Job.Command)
	assert.JSONEq(t, `{"n": 9007199254740993}`, string(p.running["repair"].Job.Params))
}
