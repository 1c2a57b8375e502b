package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// groupMessages are the channels of a group's signals.
type groupMessages struct {
	cancelJob, expireJob, cancelGroup, pause, resume, outcome, room, fleet, admission, reassert, calendar workflow.ReceiveChannel
}

// waiting reports whether a signal has come.
func (m groupMessages) waiting() bool {
	return m.cancelJob.Len()+m.expireJob.Len()+m.cancelGroup.Len()+m.pause.Len()+m.resume.Len()+m.outcome.Len()+m.room.Len()+m.fleet.Len()+m.admission.Len()+m.reassert.Len()+m.calendar.Len() > 0
}

// listen opens the group to messages. Update handlers never wait, so that none
// is unfinished when the group ends or continues as new.
func (r *groupRun) listen() error {
	r.messages = groupMessages{
		cancelJob:   workflow.GetSignalChannel(r.ctx, contract.SignalCancelJob),
		expireJob:   workflow.GetSignalChannel(r.ctx, contract.SignalExpireJob),
		cancelGroup: workflow.GetSignalChannel(r.ctx, contract.SignalCancelGroup),
		pause:       workflow.GetSignalChannel(r.ctx, contract.SignalPause),
		resume:      workflow.GetSignalChannel(r.ctx, contract.SignalResume),
		outcome:     workflow.GetSignalChannel(r.ctx, contract.SignalJobOutcome),
		room:        workflow.GetSignalChannel(r.ctx, contract.SignalWorkerRoom),
		fleet:       workflow.GetSignalChannel(r.ctx, contract.SignalFleetChanged),
		admission:   workflow.GetSignalChannel(r.ctx, contract.SignalAdmissionAnswer),
		calendar:    workflow.GetSignalChannel(r.ctx, contract.SignalSetCalendar),
		reassert:    workflow.GetSignalChannel(r.ctx, contract.SignalReassert),
	}
	if err := workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateDetectPage, r.takePage,
		workflow.UpdateHandlerOptions{Validator: r.checkPage, Description: "One page of proposals, sent by the detector."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateSetPolicy, r.setPolicy,
		workflow.UpdateHandlerOptions{Validator: r.checkPolicy, Description: "Replaces the policy of this running group, and its retry budget."}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryStatus, r.status,
		workflow.QueryHandlerOptions{Description: "Where the group is: phase, counts, workers, what it waits for."}); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryJobs, r.jobs,
		workflow.QueryHandlerOptions{Description: "The jobs of the group, filtered and paged."})
}

func (r *groupRun) checkPage(_ workflow.Context, in contract.DetectPageInput) error {
	if r.core == nil {
		return errNotBegun
	}
	return r.core.CheckPage(pageOf(in))
}

func (r *groupRun) takePage(_ workflow.Context, in contract.DetectPageInput) (contract.DetectPageResult, error) {
	return contract.DetectPageResult(r.core.TakePage(pageOf(in))), nil
}

// collectMessages tells the core all signals that have come, but for outcomes, in
// the order of their kinds: only of pauses and resumes it matters which came first.
// A signal that cannot be decoded is logged and dropped by the SDK.
func (r *groupRun) collectMessages() {
	r.collectFleet()
	r.collectSteering()
	r.collectJobs(r.messages.cancelJob, contract.SignalCancelJob, "job.cancel", func(n int, in contract.CancelJobInput) dispatch.Event {
		return dispatch.JobCanceled{Job: n, DedupeKey: in.DedupeKey, Reason: in.Reason}
	})
	r.collectJobs(r.messages.expireJob, contract.SignalExpireJob, "job.expire", func(n int, in contract.CancelJobInput) dispatch.Event {
		return dispatch.JobExpired{Job: n, DedupeKey: in.DedupeKey, Reason: in.Reason}
	})
	for {
		var in contract.CancelGroupInput
		if !r.messages.cancelGroup.ReceiveAsync(&in) {
			break
		}
		r.auditCancelGroup(in)
		r.step(dispatch.GroupCanceled{Reason: in.Reason})
	}
}

// collectSteering tells of pauses and resumes.
func (r *groupRun) collectSteering() {
	for _, wish := range steeringOf(r.ctx).take(r.messages.pause, r.messages.resume) {
		if wish.pause {
			r.auditPause(wish.PauseInput)
			r.step(dispatch.Paused{By: wish.By, Note: wish.Note})
			continue
		}
		r.auditResume()
		r.step(dispatch.Resumed{})
	}
}

// collectJobs takes the messages about single jobs.
func (r *groupRun) collectJobs(channel workflow.ReceiveChannel, signal, action string, event func(int, contract.CancelJobInput) dispatch.Event) {
	for {
		var in contract.CancelJobInput
		if !channel.ReceiveAsync(&in) {
			return
		}
		r.auditJob(signal, action, in)
		n, _ := contract.JobNumber(in.JobID)
		r.step(event(n, in))
	}
}

// collectFleet keeps only the newest view.
func (r *groupRun) collectFleet() {
	newest := newestView(r.messages.fleet, &r.seen)
	if newest != nil {
		r.step(dispatch.WorkersChanged{Workers: r.workers(newest.Workers)})
	}
}

func (r *groupRun) collectOutcomes() {
	for {
		var in contract.JobOutcomeInput
		if !r.messages.outcome.ReceiveAsync(&in) {
			return
		}
		n, _ := contract.JobNumber(in.JobID)
		r.step(dispatch.OutcomeDelivered{Job: n, Attempt: in.Attempt, Fence: in.Fence, Ending: endingOfState(in.Outcome)})
	}
}
