package run

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// transit delivers the requests of a run to admission, one after the other.
type transit struct {
	ctx workflow.Context
	// ensuring is the activity that sends the content again after nothing received it.
	sending, ensuring workflow.Future
	calling           bool
	sent              contract.AdmissionRequest
	answers           []contract.AdmissionAnswer
}

func (t *transit) start(call bool) {
	if t.calling = call; call {
		t.sending = callAdmission(t.ctx, t.sent)
		return
	}
	t.sending = workflow.SignalExternalWorkflow(t.ctx, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, t.sent)
}

func (t *transit) idle() bool { return t.sending == nil && t.ensuring == nil }

func (t *transit) ready() bool {
	return t.sending != nil && t.sending.IsReady() || t.ensuring != nil && t.ensuring.IsReady()
}

// collect reports whether the content is lost. If nothing received the signal, an activity sends it and starts
// admission if missing. A release of everything is not worth a start.
func (t *transit) collect(recent []contract.AdmissionEndings) (lost bool) {
	if t.sending != nil && t.sending.IsReady() {
		missing, err := t.sendingEnded()
		if err != nil && !(missing && t.sent.ReleaseAll && !hasFailures(t.sent) && len(t.sent.Results) == 0) {
			if missing {
				t.sent.Endings = once(recent, t.sent.Endings)
			}
			t.ensuring = callEnsureAdmission(t.ctx, contract.EnsureAdmissionInput{Request: &t.sent})
		}
	}
	if t.ensuring == nil || !t.ensuring.IsReady() {
		return false
	}
	err := t.ensuring.Get(t.ctx, nil)
	if t.ensuring = nil; err != nil {
		workflow.GetLogger(t.ctx).Error("Admission was not reached; the request is repeated.", "error", err)
	}
	return err != nil
}

var errNoAdmission = errors.New("no admission runs")

func (t *transit) sendingEnded() (missing bool, err error) {
	sending, calling := t.sending, t.calling
	t.sending, t.calling = nil, false
	if !calling {
		err = sending.Get(t.ctx, nil)
		var unknown *temporal.UnknownExternalWorkflowExecutionError
		return errors.As(err, &unknown), err
	}
	var result contract.CallAdmissionResult
	switch err = sending.Get(t.ctx, &result); {
	case err != nil:
		return false, err
	case result.Missing:
		return true, errNoAdmission
	case result.Answer != nil:
		t.answers = append(t.answers, *result.Answer)
	}
	return false, nil
}
