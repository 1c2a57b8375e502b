package jobtypes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// ApplyResult holds the result of each change of a plan.
type ApplyResult struct {
	// Applied are the changes made. Unchanged counts job types without a change.
	Applied   []Change       `json:"applied"`
	Unchanged int            `json:"unchanged"`
	Failed    []FailedChange `json:"failed,omitempty"`
	// Changes not begun before ctx ended.
	NotAttempted []Change `json:"not_attempted,omitempty"`
}

// FailedChange is a change that failed.
type FailedChange struct {
	Change

	Error string `json:"error"`

	cause error
}

// ApplyError reports that some changes were not made. The returned result is complete.
type ApplyError struct {
	Result ApplyResult
}

// Error implements error.
func (e *ApplyError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d changes applied, %d failed, %d not attempted: run apply again, it continues where this one ended",
		len(e.Result.Applied), len(e.Result.Failed), len(e.Result.NotAttempted))
	for _, failed := range e.Result.Failed {
		fmt.Fprintf(&text, "\n    %s %s: %s", failed.Action, failed.JobType, failed.Error)
	}
	return text.String()
}

// Unwrap returns the causes.
func (e *ApplyError) Unwrap() []error {
	return lists.Map(e.Result.Failed, func(failed FailedChange) error { return failed.cause })
}

// Apply carries out a plan. It reads every Schedule right before and after a write, so it does not overwrite a
// concurrent change. It deletes last. After a failed change it continues and returns an [*ApplyError].
func (c Client) Apply(ctx context.Context, plan Plan) (ApplyResult, error) {
	return c.ApplyTelling(ctx, plan, func(Change, error) {})
}

// ApplyTelling is [Client.Apply] with progress. It calls tell for each change in order, never concurrently. An error
// means that the change was not made.
func (c Client) ApplyTelling(ctx context.Context, plan Plan, tell func(Change, error)) (ApplyResult, error) {
	s := c.patiently()
	made, recorded := c.recorder(ctx, len(plan.Changes))
	var written, deleted []Change
	for _, change := range plan.Changes {
		if change.Action == ActionDelete {
			deleted = append(deleted, change)
		} else {
			written = append(written, change)
		}
	}
	outcomes := runChanges(ctx, written, func(ctx context.Context, change Change) (Change, error) {
		return s.converge(ctx, change.JobType, plan.wanted[change.JobType])
	}, tell, made)
	outcomes = append(outcomes, runChanges(ctx, deleted, func(ctx context.Context, change Change) (Change, error) {
		return s.delete(ctx, plan.owner, change)
	}, tell, made)...)
	result := summarize(outcomes)
	close(made)
	<-recorded
	c.recordFoundPauses(ctx, plan.Changes)
	if len(result.Failed) > 0 || len(result.NotAttempted) > 0 {
		err := error(&ApplyError{Result: result})
		if ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
		return result, err
	}
	return result, nil
}

type changeOutcome struct {
	change    Change
	attempted bool
	err       error
}

// runChanges reports changes in order, and begins none after ctx has ended. Those with an effect are sent to made at once.
func runChanges(ctx context.Context, changes []Change, carryOut func(context.Context, Change) (Change, error), tell func(Change, error), made chan<- Change) []changeOutcome {
	outcomes, done := make([]changeOutcome, len(changes)), make([]bool, len(changes))
	slots := make(chan struct{}, planParallel)
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		untold int
	)
	for i, change := range changes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			outcomes[i].change = change
			if ctx.Err() == nil {
				after, err := carryOut(ctx, change)
				outcomes[i] = changeOutcome{change: after, attempted: true, err: err}
				if err == nil && after.Action != ActionUnchanged {
					made <- after
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for done[i] = true; untold < len(done) && done[untold]; untold++ {
				if one := outcomes[untold]; one.attempted {
					tell(one.change, one.err)
				}
			}
		})
	}
	group.Wait()
	return outcomes
}

func summarize(outcomes []changeOutcome) ApplyResult {
	result := ApplyResult{Applied: []Change{}}
	for _, outcome := range outcomes {
		switch {
		case !outcome.attempted && outcome.change.Action == ActionUnchanged:
			result.Unchanged++
		case !outcome.attempted:
			result.NotAttempted = append(result.NotAttempted, outcome.change)
		case outcome.err != nil:
			result.Failed = append(result.Failed, FailedChange{Change: outcome.change, Error: outcome.err.Error(), cause: outcome.err})
		case outcome.change.Action == ActionUnchanged:
			result.Unchanged++
		default:
			result.Applied = append(result.Applied, outcome.change)
		}
	}
	return result
}

// convergeAttempts bounds the writes of a Schedule that others change at the same time.
const convergeAttempts = 20

// errContested means that another client kept changing the Schedule.
var errContested = errors.New("the Schedule kept changing while it was written: is another apply running? run apply again")

// converge ends with a read that finds no difference, so a write that the server dropped is repeated.
func (s schedules) converge(ctx context.Context, name string, wanted wantedType) (Change, error) {
	change := Change{JobType: name, Action: ActionUnchanged}
	last := change
	var calendar *calendarChange
	for attempt := range convergeAttempts {
		now, err := s.assess(ctx, name, wanted)
		if err != nil {
			return change, err
		}
		if attempt == 0 && (now.change.Action == ActionUpdate || now.change.Action == ActionDrift) {
			calendar = s.changesCalendar(now.current, wanted.spec)
		}
		if err := s.tell(ctx, calendar, name, now.current.info); err != nil {
			return change, err
		}
		if now.change.Action == ActionUnchanged {
			if attempt == 0 {
				change = now.change
			}
			return change, nil
		}
		if change.Action == ActionUnchanged {
			change = now.change
			change.former, change.formerFault = s.formerBefore(now, wanted)
		}
		last = now.change
		if err := s.write(ctx, name, wanted, now); err != nil {
			return change, err
		}
		if attempt > 0 {
			// Two writers in step would undo each other forever.
			if err := rpc.Wait(ctx, rand.N(time.Duration(attempt)*20*time.Millisecond)); err != nil { //nolint:gosec // spreads load, guards nothing
				return change, err
			}
		}
	}
	return change, fmt.Errorf("%w; last seen: %s", errContested, last)
}

// A write that came too late shows at the next read.
func (s schedules) write(ctx context.Context, name string, wanted wantedType, now assessment) error {
	if now.change.Action == ActionConflict {
		return errors.New(now.change.Note)
	}
	schedule, err := s.build(wanted.spec)
	if err != nil {
		return err
	}
	schedule.State = now.state
	if now.change.Action == ActionCreate {
		_, err = s.create(ctx, name, schedule, wanted.runsNow())
		return err
	}
	return s.update(ctx, name, schedule, now.current.token)
}

// The running group of a deleted Schedule continues.
func (s schedules) delete(ctx context.Context, owner string, change Change) (Change, error) {
	current, found, err := s.read(ctx, change.JobType)
	if err != nil {
		return change, err
	}
	if !found || !s.mayDelete(current, owner) {
		return Change{JobType: change.JobType, Action: ActionUnchanged}, nil
	}
	change.former, change.formerFault = s.formerOf(current.schedule)
	return change, s.remove(ctx, change.JobType)
}
