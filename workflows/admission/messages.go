package admission

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/lib/pack"
)

func (a *run) listen() error {
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateAdmissionRequest, a.call,
			workflow.UpdateHandlerOptions{Validator: a.checkCall, Description: "Request items, and receive the immediate decisions. Runs call it."}),
		workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateResizePool, a.resizePool,
			workflow.UpdateHandlerOptions{Validator: a.checkResize, Description: "Give a pool another size; 0 returns to the declared one."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryAdmission, a.view,
			workflow.QueryHandlerOptions{Description: "Lanes, pools and objects: who holds them, who waits."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryPastGrants, a.past,
			workflow.QueryHandlerOptions{Description: "Who held lanes, pools and objects before, and for how long."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryHolders, a.holders,
			workflow.QueryHandlerOptions{Description: "Holders and waiters, for the watcher."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryDurable, a.durable,
			workflow.QueryHandlerOptions{Description: "The state that the next admission inherits."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryAdmissionUsage, a.usage,
			workflow.QueryHandlerOptions{Description: "Used and awaited amounts, for metrics."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryKeyHolder, a.keyHolder,
			workflow.QueryHandlerOptions{Description: "Who works on this dedupe key."}),
		a.listenToOperators(),
	)
}

func (a *run) checkCall(_ workflow.Context, in contract.AdmissionRequest) error {
	if in.Holder.WorkflowID == "" {
		return errNoHolder
	}
	return nil
}

var errNoHolder = errors.New("the request names no holder")

// call handles a request like the signal, after all requests received before it. A caller without a timely answer has
// sent the request as a signal, too, and reads only signals: an answer that waits for one is sent as well.
func (a *run) call(_ workflow.Context, in contract.AdmissionRequest) (contract.AdmissionAnswer, error) {
	a.loop.NoticeReset()
	a.takeReset() // A grant that the reset undid must not be repeated.
	a.collectRequests()
	signaled := a.outbox.of[in.Holder] != nil
	a.loop.Received(1)
	a.step(admission.Requested(in))
	a.loop.Touch()
	answer := a.outbox.answer(in.Holder)
	if signaled {
		a.outbox.add(&answer)
	}
	return answer, nil
}

func (a *run) checkResize(_ workflow.Context, in contract.ResizePoolInput) error {
	if in.Pool == "" || in.Size < 0 {
		return errors.New("name a pool, and a size of at least 1, or 0 to return to the declared one")
	}
	if refusal := a.core.CheckResize(admission.Resized{Pool: in.Pool, Size: in.Size}); refusal != nil {
		return refusal
	}
	return nil
}

func (a *run) resizePool(ctx workflow.Context, in contract.ResizePoolInput) (contract.AdmissionPool, error) {
	workflow.GetLogger(a.ctx).Info("Pool resized.", "pool", in.Pool, "size", in.Size, "by", in.By)
	before := a.core.Pool(in.Pool)
	a.step(admission.Resized{Pool: in.Pool, Size: in.Size})
	a.loop.Touch()
	after := a.core.Pool(in.Pool)
	a.auditResize(ctx, in, before, after)
	return after, nil
}

func (a *run) view(filter contract.AdmissionFilter) (contract.AdmissionView, error) {
	view := a.core.View(filter)
	if a.inherited.From != "" || a.inherited.Fault != "" {
		view.Inherited = &a.inherited
	}
	return view, nil
}

func (a *run) past(filter contract.PastGrantsFilter) (contract.PastGrants, error) {
	return a.core.Past(filter), nil
}

func (a *run) usage() (contract.AdmissionUsage, error) { return a.core.Usage(a.loop.Now()), nil }

func (a *run) holders() ([]contract.AdmissionHolder, error) { return a.core.Watched(), nil }

func (a *run) keyHolder(in contract.KeyHolderInput) (contract.KeyHolderResult, error) {
	if len(in.Keys) > 0 {
		return contract.KeyHolderResult{ByKey: a.keyHolders(in)}, nil
	}
	use, held := a.core.KeyHolder(contract.DedupeHash(in.JobType, in.DedupeKey))
	if !held {
		return contract.KeyHolderResult{}, nil
	}
	return contract.KeyHolderResult{By: &use}, nil
}

func (a *run) keyHolders(in contract.KeyHolderInput) map[string]contract.AdmissionUse {
	uses := map[string]contract.AdmissionUse{}
	for _, key := range in.Keys {
		if use, held := a.core.KeyHolder(contract.DedupeHash(in.JobType, key)); held {
			uses[key] = use
		}
	}
	return uses
}

// durable also answers after this run has ended.
func (a *run) durable() (contract.DurableResult, error) {
	data, err := pack.JSON(a.core.Durable())
	return contract.DurableResult{Data: data, Passed: a.loop.Passed()}, err
}

const shownNames = 20

func (a *run) describe() {
	view := a.core.View(contract.AdmissionFilter{Limit: shownNames})
	text := fmt.Sprintf("%d holders · %d keys", view.HolderCount, view.Keys)
	if view.Recovering {
		text = fmt.Sprintf("recovering: %d runs have not reported their holdings · ", len(view.Expected)) + text
	}
	if types, keys := a.core.CountHeldBack(a.loop.Now()); types+keys > 0 {
		text += fmt.Sprintf(" · %d job types and %d keys held back", types, keys)
	}
	for _, lane := range view.Lanes {
		if lane.Holder != nil {
			text += fmt.Sprintf("\n\nlane %s: %s, %d waiting", lane.Name, lane.Holder.WorkflowID, lane.WaitingCount)
		}
	}
	for _, pool := range view.Pools {
		text += fmt.Sprintf("\n\npool %s: %d of %d, %d waiting", pool.Name, pool.Used, pool.Size, pool.WaitingCount)
	}
	workflow.SetCurrentDetails(a.ctx, text)
}
