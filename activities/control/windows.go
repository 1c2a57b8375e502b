package control

import (
	"context"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

const invalidCalendar = "InvalidCalendar"

// Windows is [contract.WindowsActivity]. An unreadable calendar, after a manual edit, is a permanent error.
func (*Control) Windows(_ context.Context, in contract.WindowsInput) (contract.WindowsResult, error) {
	own, err := window.New(in.Calendar, time.LoadLocation)
	if err != nil {
		return contract.WindowsResult{}, unreadable("job type "+in.JobType, err)
	}
	lane, err := window.New(in.LaneCalendar, time.LoadLocation)
	if err != nil {
		return contract.WindowsResult{}, unreadable("lane "+in.Lane, err)
	}
	result := contract.WindowsResult{
		Longest: jobtype.Duration(window.Longest(in.At, own, lane)),
		Closed:  explain.Closed(in.JobType, own.Why(in.At), in.Lane, lane.Why(in.At)),
	}
	for _, span := range window.Upcoming(in.At, contract.MaxWindows, own, lane) {
		result.Open = append(result.Open, contract.WindowSpan(span))
	}
	return result, nil
}

func unreadable(whose string, err error) error {
	return temporal.NewNonRetryableApplicationError("the windows of "+whose+" cannot be read: "+err.Error()+"; run apply to repair them", invalidCalendar, err)
}
