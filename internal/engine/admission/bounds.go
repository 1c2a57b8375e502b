package admission

import "github.com/roundsman/roundsman/contract"

// The bounds of what travels when admission continues as new: one payload of 2 MiB.
// Each part is bounded by itself, and the state is checked when something is
// accepted: what was accepted can always travel. Weights are bytes after packing,
// for names that do not compress.
const (
	// MaxWeight bounds holders, requests and keys, the others what is remembered of
	// failures. The rest of 2 MiB is for answers that were not delivered yet and for
	// the audit log.
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

// Weight is how much of [MaxWeight] is in use.
func (c *Core) Weight() int { return c.weight + keyWeight*(c.claims.held+c.claims.asked) }

// hasRoom reports whether something of that weight can travel besides the rest.
func (c *Core) hasRoom(weight int) bool { return c.Weight()+weight <= MaxWeight }

// admits refuses a request that could not travel.
func (c *Core) admits(r *request) bool {
	weight := r.weight() + keyWeight*len(r.keys) + c.holderWeightOf(r)
	if c.hasRoom(weight) {
		return true
	}
	c.refuse(r, contract.AdmissionRefusal{Code: contract.RefusedFull, Object: contract.FullState, N: weight, Used: c.Weight(), Limit: MaxWeight})
	return false
}

// holderWeightOf is what a request's holder adds, if it is not known yet.
func (c *Core) holderWeightOf(r *request) int {
	if c.holders[r.Holder] != nil {
		return 0
	}
	return (&holder{AdmissionHolder: r.Holder}).weight()
}
