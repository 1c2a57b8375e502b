package run

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of the endings that are sent again. They keep them small enough to travel
// when the run continues as new.
const (
	maxRecent         = 4
	maxRecentFailures = 500
	maxRecentKeys     = 10_000
)

// Report adds endings to the next request.
func (l *Link) Report(endings contract.AdmissionEndings) {
	l.next.Endings, l.dirty = append(l.next.Endings, endings), true
	l.remember(endings)
}

// remember keeps the last endings that were sent. One that admission had received
// and not looked at when it was ended is known to nobody else.
func (l *Link) remember(endings contract.AdmissionEndings) {
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

// once joins lists of endings, each once: a report is known by its time.
func once(lists ...[]contract.AdmissionEndings) []contract.AdmissionEndings {
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

// lastEndings leaves out of the last endings what follows from giving everything
// back.
func (l *Link) lastEndings(last []contract.AdmissionEndings) []contract.AdmissionEndings {
	if l.base.Budget == nil {
		return nil
	}
	var short []contract.AdmissionEndings
	for _, endings := range last {
		endings.Settled = nil
		if len(endings.Done)+len(endings.Failed) > 0 || !endings.SuccessAt.IsZero() {
			short = append(short, endings)
		}
	}
	return short
}

func hasFailures(request contract.AdmissionRequest) bool {
	return slices.ContainsFunc(request.Endings, func(e contract.AdmissionEndings) bool { return len(e.Failed) > 0 })
}
