package admission

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/workflows/entity"
)

const (
	// maxSent bounds the answers in transit: the server refuses a workflow task that would raise them above 2,000.
	maxSent = 500
	// maxTravel bounds the bytes of undelivered answers passed to the next run. For the rest it gets only the holders.
	maxTravel        = 64 << 10
	maxTravelHolders = 1000
)

type outbox struct {
	// waiting holds the unsent answers, one per holder, in the order of decision.
	waiting []*contract.AdmissionAnswer
	of      map[contract.AdmissionHolder]*contract.AdmissionAnswer
	sent    []sentAnswer
}

type sentAnswer struct {
	*contract.AdmissionAnswer

	future workflow.Future
}

func (o *outbox) empty() bool { return len(o.waiting)+len(o.sent) == 0 }

func (o *outbox) take(decision admission.Decision) {
	switch d := decision.(type) {
	case admission.Granted:
		answer := o.answerTo(d.Holder)
		answer.Granted = append(answer.Granted, d.AdmissionGrant)
	case admission.Refused:
		answer := o.answerTo(d.Holder)
		answer.Refused = append(answer.Refused, d.AdmissionRefusal)
	case admission.Lost:
		answer := o.answerTo(d.Holder)
		answer.Lost = append(answer.Lost, d.AdmissionRefusal)
	case admission.Stopped:
		answer := o.answerTo(d.Holder)
		answer.Stopped = append(answer.Stopped, d.AdmissionStop)
	case admission.Waits:
		answer := o.answerTo(d.Holder)
		answer.Waiting = append(answer.Waiting, d.ID)
	}
}

func (o *outbox) answerTo(holder contract.AdmissionHolder) *contract.AdmissionAnswer {
	if answer := o.of[holder]; answer != nil {
		return answer
	}
	return o.add(&contract.AdmissionAnswer{Holder: holder})
}

func (o *outbox) add(answer *contract.AdmissionAnswer) *contract.AdmissionAnswer {
	if o.of == nil {
		o.of = map[contract.AdmissionHolder]*contract.AdmissionAnswer{}
	}
	o.of[answer.Holder] = answer
	o.waiting = append(o.waiting, answer)
	return answer
}

func (o *outbox) answer(holder contract.AdmissionHolder) contract.AdmissionAnswer {
	answer := o.of[holder]
	if answer == nil {
		return contract.AdmissionAnswer{Holder: holder}
	}
	delete(o.of, holder)
	o.waiting = slices.DeleteFunc(o.waiting, func(waiting *contract.AdmissionAnswer) bool { return waiting == answer })
	return *answer
}

func (o *outbox) send(loop *entity.Loop) {
	n := 0
	for ; n < len(o.waiting) && len(o.sent) < maxSent && loop.Fits(answerBytes(o.waiting[n])); n++ {
		answer := o.waiting[n]
		delete(o.of, answer.Holder)
		future := workflow.SignalExternalWorkflow(loop.Context(), answer.Holder.WorkflowID, "", contract.SignalAdmissionAnswer, *answer)
		o.sent = append(o.sent, sentAnswer{answer, future})
	}
	o.waiting = slices.Delete(o.waiting, 0, n)
}

func answerBytes(answer *contract.AdmissionAnswer) int {
	const perEntry, perIndex, perKey = 128, 6, 512
	size := perEntry * (1 + len(answer.Granted) + 2*len(answer.Refused) + 2*len(answer.Lost) + 4*len(answer.Stopped) + len(answer.Waiting))
	for _, grant := range answer.Granted {
		size += len(grant.HeldBack) * perKey
		if grant.Result != nil {
			size += perEntry + len(grant.Result.Result) + len(grant.Result.By)
		}
		for _, taken := range grant.Taken {
			size += perEntry + len(taken.Indexes)*perIndex
		}
	}
	return size
}

func (o *outbox) delivered() bool {
	return slices.ContainsFunc(o.sent, func(s sentAnswer) bool { return s.future.IsReady() })
}

// collect removes the delivered answers and returns the holders that no longer exist.
func (o *outbox) collect(ctx workflow.Context) []contract.AdmissionHolder {
	pending := o.sent[:0]
	var closed []contract.AdmissionHolder
	for _, sent := range o.sent {
		if !sent.future.IsReady() {
			pending = append(pending, sent)
			continue
		}
		switch err := sent.future.Get(ctx, nil); {
		case gone(err):
			closed = append(closed, sent.Holder)
		case err != nil:
			workflow.GetLogger(ctx).Error("An answer was not delivered; the holder will repeat its request.", "holder", sent.Holder.WorkflowID, "error", err)
		}
	}
	clear(o.sent[len(pending):])
	o.sent = pending
	return closed
}

// state returns the oldest undelivered answers for the next run, and the holders of the rest.
func (o *outbox) state() (answers []contract.AdmissionAnswer, holders []contract.AdmissionHolder) {
	size := 0
	travel := func(answer *contract.AdmissionAnswer) {
		switch size += answerBytes(answer); {
		case size <= maxTravel:
			answers = append(answers, *answer)
		case len(holders) < maxTravelHolders:
			holders = append(holders, answer.Holder)
		}
	}
	for _, sent := range o.sent {
		travel(sent.AdmissionAnswer)
	}
	for _, answer := range o.waiting {
		travel(answer)
	}
	return answers, holders
}

func (o *outbox) restore(answers []contract.AdmissionAnswer) {
	for i := range answers {
		o.add(&answers[i])
	}
}
