package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
)

// begin makes the desk of a run without the state of a run before. What an
// earlier admission left to whoever started this one is taken over; what cannot
// be read is said, and not needed to go on.
func (a *admissionRun) begin(in contract.AdmissionInput) {
	now, log := workflow.Now(a.ctx), workflow.GetLogger(a.ctx)
	a.inherited = in.Inherited
	if a.inherited.Fault != "" {
		log.Error("Operators' pool sizes and what was held back are lost with the admission before.", "fault", a.inherited.Fault)
	}
	if len(a.inherited.Data) == 0 {
		a.core = admission.New(now)
		return
	}
	var kept admission.Durable
	if err := unpackJSON(a.inherited.Data, &kept); err != nil {
		kept = admission.Durable{}
		a.inherited.Fault = "what the one before left cannot be read: " + err.Error()
		log.Error("Operators' pool sizes and what was held back are lost with the admission before.", "error", err)
	}
	a.inherited.Data = nil
	a.core = admission.NewWith(now, kept)
}

// durable answers [contract.QueryDurable], even when this run has ended.
func (a *admissionRun) durable() (contract.DurableResult, error) {
	data, err := packJSON(a.core.Durable())
	return contract.DurableResult{Data: data}, err
}
