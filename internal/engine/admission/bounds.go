package admission

import "github.com/roundsman/roundsman/contract"

// Bounds of the state at continue-as-new: one payload of 2 MiB. Each part has its own bound, checked when a request
// is accepted. Weights are bytes after packing, for names that do not compress.
const (
	// The rest of 2 MiB is for undelivered answers and the audit log.
	MaxWeight      = 1_450_000
	maxKeysWeight  = 160_000
	maxTypesWeight = 80_000

	holderWeight  = 16
	budgetWeight  = 20
	requestWeight = 20
	amountWeight  = 6
	keyWeight     = 9
	turnWeight    = 16
	passWeight    = 8
	poolWeight    = 24
)

func (h *holder) weight() int {
	return holderWeight + len(h.WorkflowID) + len(h.FirstRunID) + budgetWeight
}

func (r *request) weight() int {
	weight := requestWeight + len(r.ID) + len(r.Lane) + len(r.For) + len(r.JobType)
	for _, amount := range r.Pools {
		weight += amountWeight + len(amount.Pool)
	}
	for _, object := range r.Objects {
		weight += amountWeight + len(object.Name)
	}
	if r.Budget != nil {
		weight += budgetWeight + len(r.Budget.JobType) + len(r.Budget.DedupeKey)
	}
	return weight
}

// Weight returns the used part of [MaxWeight].
func (c *Core) Weight() int {
	return c.registry.weight + c.lanes.weight + c.pools.weight + keyWeight*(c.claims.held+c.claims.asked)
}

func (c *Core) hasRoom(weight int) bool { return c.Weight()+weight <= MaxWeight }

func (c *Core) admits(r *request) bool {
	weight := r.weight() + keyWeight*len(r.keys) + c.holderWeightOf(r)
	if c.hasRoom(weight) || c.recovery == nil && c.hasRoom(weight-keyWeight*c.claims.regains(r)) {
		return true
	}
	c.refuse(r, contract.AdmissionRefusal{Code: contract.RefusedFull, Object: contract.FullState, N: weight, Used: c.Weight(), Limit: MaxWeight})
	return false
}
