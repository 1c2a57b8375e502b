package runend

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
)

var reader = converter.GetDefaultDataConverter()

func payloads(t *testing.T, value any) *common.Payloads {
	t.Helper()
	encoded, err := reader.ToPayloads(value)
	require.NoError(t, err)
	return encoded
}

func completed(t *testing.T, result any) *commandpb.Command {
	t.Helper()
	return &commandpb.Command{Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
		CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{Result: payloads(t, result)},
	}}
}

func canceled(t *testing.T, result any) *commandpb.Command {
	t.Helper()
	return &commandpb.Command{Attributes: &commandpb.Command_CancelWorkflowExecutionCommandAttributes{
		CancelWorkflowExecutionCommandAttributes: &commandpb.CancelWorkflowExecutionCommandAttributes{Details: payloads(t, result)},
	}}
}

// failed returns the SDK's command for a run that fails with its result.
func failed(t *testing.T, result any) *commandpb.Command {
	t.Helper()
	failure := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: reader}).
		ErrorToFailure(contract.RunFailure("job group of scrub: failed", result))
	return &commandpb.Command{Attributes: &commandpb.Command_FailWorkflowExecutionCommandAttributes{
		FailWorkflowExecutionCommandAttributes: &commandpb.FailWorkflowExecutionCommandAttributes{Failure: failure},
	}}
}

type play struct {
	*Watcher

	t   *testing.T
	log bytes.Buffer
}

func newPlay(t *testing.T) *play {
	t.Helper()
	p := &play{t: t}
	p.Watcher = New(reader, slog.New(slog.NewTextHandler(&p.log, nil)))
	return p
}

func (p *play) answer(id string, fault error, commands ...*commandpb.Command) {
	p.t.Helper()
	err := p.Intercept(p.t.Context(), "/x/RespondWorkflowTaskCompleted",
		&workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:" + id, Commands: commands}, nil, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return fault })
	require.Equal(p.t, fault, err)
}

// values returns the values of all series, by the values of their labels.
func (p *play) values(name string) map[string]float64 {
	p.t.Helper()
	registry, found := prometheus.NewPedanticRegistry(), map[string]float64{}
	require.NoError(p.t, registry.Register(p))
	families, err := registry.Gather()
	require.NoError(p.t, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := ""
			for _, label := range metric.GetLabel() {
				labels += " " + label.GetValue()
			}
			found[labels[1:]] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return found
}

func TestOutcomesAreCountedWhenTheServerTookThem(t *testing.T) {
	t.Parallel()
	p, success := newPlay(t), time.Unix(1_800_000_000, 0).UTC()
	good := contract.JobGroupResult{JobType: "scrub", Outcome: contract.OutcomeCompleted, Record: contract.RunRecord{LastSuccess: success}}
	bad := contract.JobGroupResult{
		JobType: "scrub", Outcome: contract.OutcomeFailed, Counts: contract.GroupCounts{Accepted: 2, Failed: 2}, DurationMS: 1500,
		Errors: []contract.JobError{{Message: "no such\ndisk"}}, Record: contract.RunRecord{LastSuccess: success.Add(-time.Hour)},
	}
	p.answer("group/scrub-1", status.Error(codes.NotFound, "unhandled command"), completed(t, good))
	assert.Empty(t, p.values("roundsman_runs_total"), "the server did not take it: the task comes again")
	p.answer("group/scrub-1", nil, completed(t, good))
	p.answer("group/scrub-2", nil, failed(t, bad))
	p.answer("group/scrub-3", nil, canceled(t, contract.JobGroupResult{JobType: "scrub", Outcome: contract.OutcomeCanceled}))
	p.answer("group/scrub-detect-4", nil, completed(t, contract.JobGroupResult{JobType: "scrub", Outcome: contract.OutcomeCompleted, DryRun: true}))
	p.answer("dag/nightly/1", nil, failed(t, contract.DAGResult{DAG: "nightly", Outcome: contract.OutcomeFailed}))
	p.answer("dag/nightly/1/sub", nil, completed(t, contract.DAGResult{DAG: "sub", Outcome: contract.OutcomeCompleted}))
	p.answer("group/scrub-1/job-1", nil, completed(t, contract.DAGResult{DAG: "job", Outcome: contract.OutcomeCompleted}))
	p.answer("admission", nil, completed(t, map[string]any{"waiting": 3}), &commandpb.Command{})
	p.answer("worker/w1", nil, completed(t, "text"))
	assert.Equal(t, map[string]float64{"scrub completed": 1, "scrub failed": 1, "scrub canceled": 1}, p.values("roundsman_runs_total"))
	assert.Equal(t, map[string]float64{"nightly failed": 1}, p.values("roundsman_dag_runs_total"))
	assert.Equal(t, map[string]float64{"scrub": float64(success.Unix())}, p.values("roundsman_last_success_timestamp_seconds"), "an older run does not put it back")

	log := p.log.String()
	assert.Contains(t, log, `level=WARN msg="run ended" run=group/scrub-2 job_type=scrub outcome=failed took=1.5s counts.accepted=2 counts.failed=2 error=`)
	assert.Contains(t, log, "run=dag/nightly/1/sub dag=sub")
	assert.Contains(t, log, "dry_run=true")
	assert.NotContains(t, log, "admission")
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	for i := range maxNames + 5 {
		p.answer("group/x", nil, completed(t, contract.JobGroupResult{JobType: "type-" + string(rune('a'+i%26)) + time.Duration(i).String(), Outcome: contract.OutcomeCompleted}))
	}
	values := p.values("roundsman_runs_total")
	assert.Len(t, values, maxNames+1)
	assert.InDelta(t, 5, values[otherName+" completed"], 0)
}

// The first failure is an increase from 0 to 1, also for a job type applied while the control plane ran. An
// unreadable list removes no counter.
func TestAppliedJobTypesAreCountedFromZero(t *testing.T) {
	t.Parallel()
	p, applied := newPlay(t), []string{"scrub"}
	var fault error
	asked := 0
	p.Seed(func(ctx context.Context) (Applied, error) {
		asked++
		_, bounded := ctx.Deadline()
		assert.True(t, bounded)
		return Applied{Names: applied, Completed: map[string]time.Time{"scrub": time.Unix(100, 0), "deleted": time.Unix(100, 0)}}, fault
	})
	zero := map[string]float64{"scrub completed": 0, "scrub partial": 0, "scrub failed": 0, "scrub timeout": 0, "scrub canceled": 0, "scrub skipped": 0}
	assert.Equal(t, zero, p.values("roundsman_runs_total"))
	assert.Equal(t, map[string]float64{"scrub": 100}, p.values("roundsman_last_success_timestamp_seconds"), "it completed before this control plane began")
	p.answer("group/scrub-1", nil, failed(t, contract.JobGroupResult{JobType: "scrub", Outcome: contract.OutcomeFailed}))
	zero["scrub failed"] = 1
	assert.Equal(t, zero, p.values("roundsman_runs_total"))
	assert.Equal(t, 1, asked, "scrapers share a list")
	p.forget()
	applied = append(applied, "later")
	assert.Contains(t, p.values("roundsman_runs_total"), "later failed")
	p.forget()
	applied, fault = nil, errors.New("the server is away")
	assert.InDelta(t, 1, p.values("roundsman_runs_total")["scrub failed"], 0)
	assert.Equal(t, 3, asked)
}

// No alert may wait for a success of a job type that does not exist. A job type that the list does not have yet keeps its
// series.
func TestADeletedJobTypeHasNoSeries(t *testing.T) {
	t.Parallel()
	p, applied := newPlay(t), []string{"scrub", "gone"}
	p.Seed(func(context.Context) (Applied, error) {
		return Applied{Names: applied, Completed: map[string]time.Time{"gone": time.Unix(50, 0)}}, nil
	})
	for _, name := range []string{"scrub", "gone", "new"} {
		p.answer("group/"+name+"-1", nil, completed(t, contract.JobGroupResult{
			JobType: name, Outcome: contract.OutcomeCompleted, Record: contract.RunRecord{LastSuccess: time.Unix(100, 0)},
		}))
	}
	assert.Equal(t, map[string]float64{"scrub": 100, "gone": 100, "new": 100}, p.values("roundsman_last_success_timestamp_seconds"))
	p.forget()
	applied = []string{"scrub"}
	assert.Equal(t, map[string]float64{"scrub": 100, "new": 100}, p.values("roundsman_last_success_timestamp_seconds"))
	assert.NotContains(t, p.values("roundsman_runs_total"), "gone completed")
	p.forget()
	applied = []string{"scrub", "gone"}
	assert.Contains(t, p.values("roundsman_runs_total"), "gone completed", "it is applied again")
	assert.NotContains(t, p.values("roundsman_last_success_timestamp_seconds"), "gone", "the list has the last success from the start of the process")
	p.answer("group/gone-2", nil, completed(t, contract.JobGroupResult{
		JobType: "gone", Outcome: contract.OutcomeCompleted, Record: contract.RunRecord{LastSuccess: time.Unix(200, 0)},
	}))
	assert.InDelta(t, 200, p.values("roundsman_last_success_timestamp_seconds")["gone"], 0)
}

// forget makes the list of applied job types outdated.
func (p *play) forget() {
	p.applied.Lock()
	defer p.applied.Unlock()
	p.applied.at = time.Time{}
}

func TestWarningsAreCounted(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.answer("group/scrub-1", nil, completed(t, contract.JobGroupResult{JobType: "scrub", Outcome: contract.OutcomeCompleted, Counts: contract.GroupCounts{Completed: 5, Warning: 2}}))
	p.answer("dag/nightly/1", nil, completed(t, contract.DAGResult{DAG: "nightly", Outcome: contract.OutcomeCompleted, Counts: map[string]int{contract.JobWarning: 1}}))
	var total float64
	for _, n := range p.values("roundsman_warnings_total") {
		total += n
	}
	assert.InDelta(t, 3, total, 0, "%v", p.values("roundsman_warnings_total"))
}

func TestTheLastRunOfADeletedJobTypeLeavesNoSeries(t *testing.T) {
	t.Parallel()
	p, applied := newPlay(t), []string{"scrub", "gone"}
	p.Seed(func(context.Context) (Applied, error) { return Applied{Names: applied}, nil })
	p.values("roundsman_runs_total")
	p.forget()
	applied = []string{"scrub"}
	p.values("roundsman_runs_total")
	p.answer("group/gone-1", nil, completed(t, contract.JobGroupResult{
		JobType: "gone", Outcome: contract.OutcomeCanceled, Record: contract.RunRecord{LastSuccess: time.Unix(100, 0)},
	}))
	p.forget()
	assert.NotContains(t, p.values("roundsman_runs_total"), "gone canceled")
	assert.NotContains(t, p.values("roundsman_last_success_timestamp_seconds"), "gone")
}
