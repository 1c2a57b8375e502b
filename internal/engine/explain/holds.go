package explain

import (
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// heldBack gives the reasons of what admission holds back: a job type or a key
// that the retry budget has disabled, and a key that was marked as done.
func (f Facts) heldBack() []Reason {
	var reasons []Reason
	for _, hold := range f.Holds {
		if f.concerns(hold) {
			reasons = append(reasons, reasonOfHold(hold))
		}
	}
	return reasons
}

// concerns tells whether the hold is why the thing in question does not run: a
// job by its key, or because its type was disabled before it started; a run by
// what it left out, or because it was not to start. Of a job type all are listed.
func (f Facts) concerns(hold contract.AdmissionHold) bool {
	ofType := hold.DedupeKey == ""
	switch {
	case f.Item != nil && ofType:
		return f.Item.State == contract.JobNotStarted
	case f.Item != nil:
		return hold.DedupeKey == f.Item.Key && f.Item.State != contract.JobCompleted && f.Item.State != contract.JobRunning
	case f.Run != nil && f.Run.Open && ofType:
		return f.Run.Answer != nil && f.Run.Answer.Running == 0
	case f.Run != nil && f.Run.Open:
		return f.Run.Answer != nil && leftOut(f.Run.Answer.HeldBack, hold.DedupeKey)
	case f.Run != nil:
		return ofType && f.Run.Outcome != string(contract.OutcomeCompleted) && f.Run.Outcome != string(contract.OutcomeCanceled)
	}
	return f.Type != nil
}

func leftOut(held []contract.AdmissionHold, key string) bool {
	for _, one := range held {
		if one.DedupeKey == key {
			return true
		}
	}
	return false
}

func reasonOfHold(hold contract.AdmissionHold) Reason {
	r := Reason{Code: Code(hold.Code), Object: hold.JobType, Since: hold.Since, Until: hold.Until, Detail: "job type " + hold.JobType + " is " + hold.String()}
	if hold.DedupeKey != "" {
		r.Object, r.Detail = hold.DedupeKey, fmt.Sprintf("proposals with the key are left out: %s", hold.String())
	}
	switch {
	case r.Code == MarkedDone:
		r.Remedy = "nothing to do; `roundsman jobs forgive " + hold.JobType + " " + quoted(hold.DedupeKey) + "` takes the mark back"
	case hold.DedupeKey != "":
		r.Remedy = "repair what fails, then `roundsman jobtypes re-enable " + hold.JobType + " --key " + quoted(hold.DedupeKey) + "`, or wait"
	default:
		r.Remedy = "repair what fails, then `roundsman jobtypes re-enable " + hold.JobType + "`, or wait"
	}
	return r
}

// quoted writes a word so that a shell reads it as one.
func quoted(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r))
	}) < 0
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
