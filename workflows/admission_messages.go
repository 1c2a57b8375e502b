package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
)

// listen opens admission to people. Handlers never wait.
func (a *admissionRun) listen() error {
	if err := workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateResizePool, a.resizePool,
		workflow.UpdateHandlerOptions{Validator: checkPoolSize, Description: "Give a pool another size; 0 goes back to the declared one."}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryAdmission, a.view,
		workflow.QueryHandlerOptions{Description: "Lanes, pools and objects: who holds them, who waits."}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryHolders, a.holders,
		workflow.QueryHandlerOptions{Description: "Who holds or waits. The watcher asks."}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryDurable, a.durable,
		workflow.QueryHandlerOptions{Description: "What an admission that is started anew takes over."}); err != nil {
		return err
	}
	if err := a.listenToOperators(); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryKeyHolder, a.keyHolder,
		workflow.QueryHandlerOptions{Description: "Who is at the work with this dedupe key."})
}

func checkPoolSize(_ workflow.Context, in contract.ResizePoolInput) error {
	if in.Pool == "" || in.Size < 0 {
		return errors.New("name a pool, and a size of at least 1, or 0 to go back to the declared one")
	}
	return nil
}

func (a *admissionRun) resizePool(ctx workflow.Context, in contract.ResizePoolInput) (contract.AdmissionPool, error) {
	workflow.GetLogger(a.ctx).Info("Pool resized.", "pool", in.Pool, "size", in.Size, "by", in.By)
	before := a.pool(in.Pool)
	a.step(admission.Resized{Pool: in.Pool, Size: in.Size})
	a.touched = true
	after := a.pool(in.Pool)
	a.auditResize(ctx, in, before, after)
	return after, nil
}

func (a *admissionRun) view() (contract.AdmissionView, error) {
	view := admissionView(a.core)
	if a.inherited.From != "" || a.inherited.Fault != "" {
		view.Inherited = &a.inherited
	}
	return view, nil
}

func (a *admissionRun) holders() ([]contract.AdmissionHolder, error) {
	list := []contract.AdmissionHolder{}
	for _, holder := range a.core.Watched() {
		list = append(list, wireHolder(holder))
	}
	return list, nil
}

func (a *admissionRun) keyHolder(in contract.KeyHolderInput) (contract.KeyHolderResult, error) {
	use, held := a.core.KeyHolder(contract.DedupeHash(in.JobType, in.DedupeKey))
	if !held {
		return contract.KeyHolderResult{}, nil
	}
	return contract.KeyHolderResult{By: new(wireUse(use))}, nil
}

// details is what the Web UI shows.
func (a *admissionRun) details() string {
	view := a.core.View()
	text := fmt.Sprintf("%d holders · %d keys", len(a.core.Holders()), view.Keys)
	if view.Recovering {
		text = fmt.Sprintf("recovering: %d groups are still to say what they hold · ", len(view.Expected)) + text
	}
	if types, keys := a.core.CountHeldBack(workflow.Now(a.ctx)); types+keys > 0 {
		text += fmt.Sprintf(" · %d job types and %d keys held back", types, keys)
	}
	for _, lane := range view.Lanes {
		if lane.Holder != nil {
			text += fmt.Sprintf("\n\nlane %s: %s, %d waiting", lane.Name, lane.Holder.Holder.ID, len(lane.Waiting))
		}
	}
	for _, pool := range view.Pools {
		text += fmt.Sprintf("\n\npool %s: %d of %d, %d waiting", pool.Name, pool.Used, pool.Size, len(pool.Waiting))
	}
	return text
}
