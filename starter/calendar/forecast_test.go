package calendar

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/forecast"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// noSchedule is a server that answers for each Schedule with an error.
type noSchedule struct {
	client.Client

	fault error
}

func (s noSchedule) WorkflowService() workflowservice.WorkflowServiceClient {
	return noScheduleCalls{fault: s.fault}
}

type noScheduleCalls struct {
	workflowservice.WorkflowServiceClient

	fault error
}

func (c noScheduleCalls) ListScheduleMatchingTimes(context.Context, *workflowservice.ListScheduleMatchingTimesRequest, ...grpc.CallOption) (*workflowservice.ListScheduleMatchingTimesResponse, error) {
	return nil, c.fault
}

// TestADeletedJobTypeHidesNoForecast: a list of job types may have it for some seconds. Other faults are reported.
func TestADeletedJobTypeHidesNoForecast(t *testing.T) {
	t.Parallel()
	now := time.Now()
	of := func(fault error) (ForecastType, error) {
		_, told, err := new(Memory).forecastType(t.Context(), starter.New(noSchedule{fault: fault}, "", nil), jobtypes.JobType{Name: "gone"}, now, now.Add(time.Hour))
		return told, err
	}
	told, err := of(serviceerror.NewNotFound("no such Schedule"))
	require.NoError(t, err)
	assert.Contains(t, told.Fault, "deleted")
	_, err = of(serviceerror.NewInternal("broken"))
	require.ErrorContains(t, err, "broken")
}

// TestTicksAreCountedByType: each tick searched its job type, 10^10 comparisons for 10,000 job types and a million ticks.
func TestTicksAreCountedByType(t *testing.T) {
	t.Parallel()
	const n = 1000
	var all []forecast.Tick
	found := Forecast{Types: make([]ForecastType, n)}
	for k := range n {
		found.Types[k].JobType = strconv.Itoa(k)
		for at := range k % 5 {
			state := contract.TickRuns
			if at%2 == 1 {
				state = contract.TickSkipped
			}
			all = append(all, forecast.Tick{JobType: strconv.Itoa(k), State: state})
		}
	}
	read := 0
	count(func(yield func(*ForecastType) bool) {
		for one := range found.pointers() {
			if read++; !yield(one) {
				return
			}
		}
	}, all)
	assert.Equal(t, n, read)
	for k, one := range found.Types {
		require.Equal(t, []int{k % 5, (k%5 + 1) / 2, k % 5 / 2}, []int{one.Due, one.Runs, one.Skipped}, one.JobType)
	}
}
