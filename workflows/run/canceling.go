package run

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// ErrNotBegun answers an update before the run has its state.
var ErrNotBegun = temporal.NewApplicationError("the run has not begun, or is being continued; try again in a moment", contract.RunNotBegunError)

// Listen registers the updates of every kind of run. Call it before the first wait. Update handlers never wait, so
// none is unfinished when the run ends or continues as new.
func (l *Loop) Listen() error {
	return workflow.SetUpdateHandlerWithOptions(l.ctx, contract.UpdateCancelItem, l.cancelItem, workflow.UpdateHandlerOptions{
		Description: "Cancels one job or task; with force, ends a job at once.",
		Validator: func(_ workflow.Context, in contract.CancelItemInput) error {
			_, _, err := l.checkCancel(in)
			return err
		},
	})
}

func (l *Loop) checkCancel(in contract.CancelItemInput) (request source.CancelItem, state string, err error) {
	if l.core == nil {
		return request, "", ErrNotBegun
	}
	request = source.CancelItem{Name: in.Item, Key: in.Key, Force: in.Force, Reason: in.Reason}
	if in.Item != "" {
		request.Item, _ = l.kind.Item(in.Item)
		request.Key = ""
	}
	state, refused := l.core.CheckCancel(request)
	if refused != nil {
		return request, state, contract.RefuseItem(*refused, explain.TextRefusal(*refused))
	}
	return request, state, nil
}

// cancelItem cancels one item. A request of the same workflow task may have ended it since the validator.
func (l *Loop) cancelItem(ctx workflow.Context, in contract.CancelItemInput) (contract.CancelItemResult, error) {
	request, state, err := l.checkCancel(in)
	if err != nil {
		return contract.CancelItemResult{}, err
	}
	action := l.CancelAction
	if in.Force {
		action = "job.expire"
	}
	l.Audit.Updated(ctx, contract.AuditEntry{Action: action, Actor: in.By, Object: l.Audit.Object() + "/" + cmp.Or(in.Item, "key "+in.Key), Before: state, Detail: in.Reason})
	l.Observe()
	l.Step(request)
	l.Touch()
	return contract.CancelItemResult{State: state}, nil
}
