package workflows

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of what a group says again. They keep it small enough to travel when the
// group continues as new.
const (
	maxRecent         = 4
	maxRecentFailures = 500
	maxRecentKeys     = 10_000
)

// remember keeps the last endings that were said. One that admission had received
// and not looked at when it was ended is known to nobody else.
func (l *admissionLink) remember(endings contract.AdmissionEndings) {
	l.recent = append(l.recent, endings)
	failures, keys, from := 0, 0, len(l.recent)
	for i, e := range slices.Backward(l.recent) {
		failures, keys = failures+len(e.Failed), keys+(len(e.Done)+len(e.Settled))/8
		if len(l.recent)-i > maxRecent || failures > maxRecentFailures || keys > maxRecentKeys {
			break
		}
		from = i
	}
	l.recent = slices.Clone(l.recent[from:])
}

// again puts lists of endings together, each once: a report is known by its time.
func again(lists ...[]contract.AdmissionEndings) []contract.AdmissionEndings {
	var all []contract.AdmissionEndings
	for _, list := range lists {
		for _, e := range list {
			if !slices.ContainsFunc(all, func(known contract.AdmissionEndings) bool { return known.At.Equal(e.At) }) {
				all = append(all, e)
			}
		}
	}
	return all
}
