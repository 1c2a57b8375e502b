package jobtypetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

func descriptorFaults(_ context.Context, handler jobtype.Handler, c Case) []error {
	descriptor := handler.Descriptor()
	faults := notNil(descriptor.Validate())
	if again := handler.Descriptor(); !reflect.DeepEqual(descriptor, again) {
		faults = append(faults, fmt.Errorf("Descriptor must return the same value every time:\n%+v\n%+v", descriptor, again))
	}
	if _, err := throughJSON(descriptor); err != nil {
		faults = append(faults, fmt.Errorf("the descriptor does not travel as JSON: %w", err))
	}
	faults = append(faults, notNil(CheckSchemas(descriptor, c.Input.Params, c.Input.Settings, c.ExecuteSettings))...)
	if validator, ok := handler.(jobtype.SettingsValidator); ok {
		if err := validator.ValidateSettings(c.Input.Params, c.Input.Settings, c.ExecuteSettings); err != nil {
			faults = append(faults, fmt.Errorf("ValidateSettings refuses the case: %w", err))
		}
	}
	return faults
}

func detectFaults(ctx context.Context, handler jobtype.Handler, c Case) []error {
	first, second := Detect(ctx, handler, c.Input), Detect(ctx, handler, c.Input)
	if err := firstOf(first.Err, second.Err); err != nil {
		return []error{fmt.Errorf("Detect failed: %w", err)}
	}
	var faults []error
	for _, refused := range first.Invalid {
		faults = append(faults, fmt.Errorf("an invalid proposal: %w", refused))
	}
	if !slices.Equal(first.Keys(), second.Keys()) {
		faults = append(faults, fmt.Errorf("two detections of the same state must find the same keys in the same order:\n%q\n%q", first.Keys(), second.Keys()))
	}
	if len(first.Proposals) > 1 {
		input := c.Input
		input.MaxResults = 1
		if full := Detect(ctx, handler, input); full.Err != nil {
			faults = append(faults, fmt.Errorf("a full sink is no failure, return it, not: %w", full.Err))
		}
	}
	return append(faults, within(c.Bound, "a detection whose context has ended", func() {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(jobtype.ErrDeadline)
		Detect(ended, handler, c.Input)
	})...)
}

func executeFaults(ctx context.Context, handler jobtype.Handler, c Case) []error {
	job, err := jobOfCase(ctx, handler, c)
	if err != nil {
		return []error{err}
	}
	faults := within(c.Bound, "a job canceled before it began", func() {
		Execute(ctx, handler, job, CancelBefore(jobtype.ErrCanceled))
	})
	faults = append(faults, within(c.Bound, "a job canceled at its first sign of life", func() {
		Execute(ctx, handler, job, CancelAtFirstSign(jobtype.ErrCanceled))
	})...)
	if len(faults) > 0 {
		return faults // a handler that hangs would hang below too
	}
	if done := Execute(ctx, handler, job); done.Err != nil {
		return []error{fmt.Errorf("the job failed: %w", done.Err)}
	}
	if c.NoRepeat {
		return nil
	}
	job.Attempt, job.Fence = job.Attempt+1, job.Fence+1
	if again := Execute(ctx, handler, job); again.Err != nil {
		return []error{fmt.Errorf("the job was done once and failed when it was repeated; execution is at least once, so make it find its work done: %w", again.Err)}
	}
	return nil
}

func jobOfCase(ctx context.Context, handler jobtype.Handler, c Case) (jobtype.Job, error) {
	if c.Job != nil {
		return withJobDefaults(*c.Job), nil
	}
	if handler.Descriptor().ExecuteOnly {
		return jobtype.Job{}, fmt.Errorf("handler %q detects nothing: give Check a Case.Job", handler.Descriptor().Name)
	}
	found := Detect(ctx, handler, c.Input)
	if found.Err != nil {
		return jobtype.Job{}, fmt.Errorf("no job to execute, Detect failed: %w", found.Err)
	}
	if len(found.Proposals) == 0 {
		return jobtype.Job{}, errors.New("the detection found nothing to execute: give Check an input that finds something, or a Case.Job")
	}
	return JobOf(withInputDefaults(handler, c.Input), found.Proposals[0], c.ExecuteSettings)
}

// within reports a fault if run takes longer than bound. The goroutine of a hanging handler is leaked.
func within(bound time.Duration, what string, run func()) []error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return []error{fmt.Errorf("%s continued for more than %s: watch ctx.Done() in every loop and pass ctx to everything that waits", what, bound)}
	}
}

func notNil(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
