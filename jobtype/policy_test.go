package jobtype_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

func TestDefaultPolicyIsWhatIsDocumented(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{}.WithDefaults()
	require.NoError(t, policy.Validate())
	encoded, err := json.Marshal(policy)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"detection_retries": 2.0, "detection_timeout":"45s", "execution_timeout":"30m", "max_runtime":"30m", "max_jobs_per_detection":1000,
		"global_execution_concurrency":1, "per_worker_execution_concurrency":1, "retry_backoff":"5s",
		"heartbeat_timeout":"30s", "liveness":"progress", "stall_timeout":"30s", "progress_timeout":"24h",
		"worker_loss_limit":3, "on_worker_loss":"replace", "recovery":"resume", "on_disconnect":"continue", "on_deadline":"cancel", "drain_grace":"30m", "on_window_end":"drain",
		"overlap":"skip", "routing":"worker"}`, string(encoded))
}

func TestStallTimeoutFollowsHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{HeartbeatTimeout: jobtype.Duration(time.Minute)}.WithDefaults()
	assert.Equal(t, time.Minute, policy.StallTimeout.Std())
	policy = jobtype.Policy{Liveness: jobtype.LivenessActivity}.WithDefaults()
	assert.Equal(t, 12*time.Minute, policy.StallTimeout.Std())
	policy = jobtype.Policy{StallTimeout: jobtype.Duration(time.Hour)}.WithDefaults()
	assert.Equal(t, time.Hour, policy.StallTimeout.Std())
}

// The default of stop_after is always in range and leaves a program its kill_grace if there is time
// for it.
func TestStopAfterLeavesTimeToEnd(t *testing.T) {
	t.Parallel()
	for heartbeat, want := range map[time.Duration]time.Duration{
		2 * time.Second: time.Second, 10 * time.Second: 5 * time.Second, 30 * time.Second: 16700 * time.Millisecond,
		2 * time.Minute: 2*time.Minute - 14200*time.Millisecond, 24 * time.Hour: 24*time.Hour - 12*time.Second - time.Second - 864*time.Second,
	} {
		policy := jobtype.Policy{HeartbeatTimeout: jobtype.Duration(heartbeat), OnDisconnect: jobtype.DisconnectStop}.WithDefaults()
		assert.Equal(t, want, policy.StopAfter.Std(), heartbeat)
		if heartbeat > 2*time.Second {
			require.NoError(t, policy.Validate())
		}
		policy.StopAfter = policy.HeartbeatTimeout - jobtype.DisconnectMargin(policy.HeartbeatTimeout) + 1
		require.ErrorContains(t, policy.Validate(), "stop_after")
		policy.OnDisconnect = jobtype.DisconnectContinue
		require.NoError(t, policy.Validate())
	}
	assert.Zero(t, jobtype.Policy{}.WithDefaults().StopAfter)
}

func TestOverTakesEveryFieldThatIsSet(t *testing.T) {
	t.Parallel()
	// Every field has its own value, so that a field missing in Over shows here.
	var base, top jobtype.Policy
	fill(reflect.ValueOf(&base).Elem(), 1)
	fill(reflect.ValueOf(&top).Elem(), 2)
	assert.Equal(t, top, top.Over(base))
	assert.Equal(t, base, jobtype.Policy{}.Over(base))
	assert.Equal(t, top, top.Over(jobtype.Policy{}))
}

func fill(policy reflect.Value, seed int64) {
	for i := range policy.NumField() {
		switch field := policy.Field(i); field.Kind() {
		case reflect.Int, reflect.Int64:
			field.SetInt(seed*1000 + int64(i))
		case reflect.String:
			field.SetString(strings.Repeat("x", int(seed)))
		case reflect.Bool:
			field.SetBool(true)
		default:
			panic("a kind of field that Over must learn: " + field.Kind().String())
		}
	}
}

func TestPolicyFaultsNameTheSetting(t *testing.T) {
	t.Parallel()
	day := jobtype.Duration(24 * time.Hour)
	broken := map[string]func(*jobtype.Policy){
		"detection_timeout":                func(p *jobtype.Policy) { p.DetectionTimeout = 1 },
		"execution_timeout":                func(p *jobtype.Policy) { p.ExecutionTimeout = -1 },
		"max_runtime":                      func(p *jobtype.Policy) { p.MaxRuntime = 366 * day },
		"retry_backoff":                    func(p *jobtype.Policy) { p.RetryBackoff = -1 },
		"retry_max_backoff":                func(p *jobtype.Policy) { p.RetryMaxBackoff = day + 1 },
		"heartbeat_timeout":                func(p *jobtype.Policy) { p.HeartbeatTimeout = 25 * day },
		"stall_timeout":                    func(p *jobtype.Policy) { p.StallTimeout = 1 },
		"progress_timeout":                 func(p *jobtype.Policy) { p.ProgressTimeout = 1 },
		"drain_grace":                      func(p *jobtype.Policy) { p.DrainGrace = -1 },
		"catchup_window":                   func(p *jobtype.Policy) { p.CatchupWindow = 1 },
		"max_jobs_per_detection":           func(p *jobtype.Policy) { p.MaxJobsPerDetection = jobtype.MaxJobsLimit + 1 },
		"global_execution_concurrency":     func(p *jobtype.Policy) { p.GlobalExecutionConcurrency = 501 },
		"per_worker_execution_concurrency": func(p *jobtype.Policy) { p.PerWorkerExecutionConcurrency = -1 },
		"retry_limit":                      func(p *jobtype.Policy) { p.RetryLimit = 101 },
		"worker_loss_limit":                func(p *jobtype.Policy) { p.WorkerLossLimit = -1 },
		"liveness":                         func(p *jobtype.Policy) { p.Liveness = "pulse" },
		"on_worker_loss":                   func(p *jobtype.Policy) { p.OnWorkerLoss = "weep" },
		"recovery":                         func(p *jobtype.Policy) { p.Recovery = "pray" },
		"on_deadline":                      func(p *jobtype.Policy) { p.OnDeadline = "extend" },
		"on_window_end":                    func(p *jobtype.Policy) { p.OnWindowEnd = "slam" },
		"overlap":                          func(p *jobtype.Policy) { p.Overlap = "allow_all" },
		"routing":                          func(p *jobtype.Policy) { p.Routing = "anycast" },
	}
	all := jobtype.DefaultPolicy().WithDefaults()
	for key, breakIt := range broken {
		policy := jobtype.DefaultPolicy().WithDefaults()
		breakIt(&policy)
		breakIt(&all)
		var fault *jobtype.PolicyFault
		require.ErrorAs(t, policy.Validate(), &fault, key)
		assert.Equal(t, key, fault.Key)
		assert.NotEmpty(t, fault.Message)
	}
	message := all.Validate().Error()
	for key := range broken {
		assert.Contains(t, message, key+": ", "all faults at once")
	}
	assert.Contains(t, message, "allow_all is refused: runs under it do not learn")
	policy := jobtype.DefaultPolicy().WithDefaults()
	policy.Overlap = "queue"
	assert.ErrorContains(t, policy.Validate(), `"queue" is none of`)
}

func TestRetryMaxBackoffIsNoShorterThanRetryBackoff(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{RetryBackoff: jobtype.Duration(time.Minute)}.WithDefaults()
	for bound, valid := range map[time.Duration]bool{
		0: true, -1: false, time.Minute - 1: false, time.Minute: true, 24 * time.Hour: true, 24*time.Hour + 1: false,
	} {
		policy.RetryMaxBackoff = jobtype.Duration(bound)
		assert.Equal(t, valid, policy.Validate() == nil, bound)
	}
	assert.ErrorContains(t, jobtype.Policy{RetryMaxBackoff: 1}.WithDefaults().Validate(), "use retry_backoff (5s) to 24h")
}

// A job of a shared queue cannot return to the worker that lost it.
func TestHoldNeedsRoutingWorker(t *testing.T) {
	t.Parallel()
	policy := jobtype.DefaultPolicy().WithDefaults()
	policy.OnWorkerLoss = jobtype.WorkerLossHold
	require.NoError(t, policy.Validate())
	policy.Routing = jobtype.RoutingShared
	var fault *jobtype.PolicyFault
	require.ErrorAs(t, policy.Validate(), &fault)
	assert.Equal(t, "on_worker_loss", fault.Key)
	assert.Contains(t, fault.Message, "use replace or fail, or routing worker")
}

func TestPolicyRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := jobtype.Policy{
			MaxRuntime:  jobtype.Duration(rapid.Int64().Draw(t, "max_runtime")),
			RetryLimit:  rapid.Int().Draw(t, "retry_limit"),
			Interactive: rapid.Bool().Draw(t, "interactive"),
			Routing:     rapid.SampledFrom([]jobtype.Routing{"", jobtype.RoutingWorker, jobtype.RoutingShared}).Draw(t, "routing"),
		}
		encoded, err := json.Marshal(want)
		require.NoError(t, err)
		var got jobtype.Policy
		require.NoError(t, json.Unmarshal(encoded, &got))
		require.Equal(t, want, got)
	})
}
