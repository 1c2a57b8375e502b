package dagrun

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// CheckCancel returns the state of the task that a request names, and the reason to refuse the request.
func (g *requests) CheckCancel(c source.CancelItem) (state string, refused *contract.ItemRefusal) {
	i, known := g.run.Lookup(c.Name)
	refusal := contract.ItemRefusal{Item: c.Name}
	if known {
		refusal.State = g.StateName(i)
	}
	switch {
	case !known:
		refusal.Code = contract.CodeUnknownItem
		if refusal.Tasks, refusal.Total = g.family(c.Name); refusal.Total == 0 {
			refusal.Similar = g.Similar(c.Name)
		}
	case c.Force:
		refusal.Code = contract.CodeNoExpiry
	case g.run.State(i).Terminal():
		refusal.Code = contract.CodeAlreadyEnded
	case !g.run.Started():
		refusal.Code = contract.CodeStarting
	case g.run.Canceling(i):
		refusal.Code = contract.CodeCanceling
	default:
		return refusal.State, nil
	}
	return refusal.State, &refusal
}

func (g *requests) family(id string) (names []string, total int) {
	views, total := g.Tasks(Filter{Task: id, Limit: 3})
	for _, v := range views {
		names = append(names, v.ID)
	}
	return names, total
}
