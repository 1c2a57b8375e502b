package admission

import "github.com/roundsman/roundsman/contract"

type (
	Holder     = contract.AdmissionHolder
	Request    = contract.AdmissionItem
	Held       = contract.AdmissionHeld
	Amount     = contract.AdmissionAmount
	Object     = contract.AdmissionObject
	Taken      = contract.AdmissionTaken
	Endings    = contract.AdmissionEndings
	Failure    = contract.AdmissionFailure
	Budget     = contract.RetryBudget
	Rule       = contract.RetryBudgetRule
	everything = contract.AdmissionFilter
)

type name struct {
	holder Holder
	id     string
}

func keyBytes(keys ...uint64) []byte { return PackKeys(keys) }

func keysOf(r Request) []uint64 {
	keys, err := UnpackKeys(r.Keys)
	if err != nil {
		panic(err)
	}
	return keys
}

func takenOf(g contract.AdmissionGrant) map[int]bool {
	taken := map[int]bool{}
	for _, by := range g.Taken {
		for _, i := range by.Indexes {
			taken[i] = true
		}
	}
	return taken
}
