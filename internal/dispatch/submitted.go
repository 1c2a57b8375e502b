package dispatch

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Submitted is what is to be done in a group that detects nothing. It is the
// first event of such a group and counts once.
//
// Who submits wants it done: unlike after a detection, a proposal that is not
// taken because of a limit or because another group is at it keeps the group
// from being completed.
type Submitted struct {
	Proposals []jobtype.Proposal
	// BatchKeys are as in a [Page].
	BatchKeys []string
}

func (e Submitted) apply(g *Group, now time.Time) {
	if !g.cfg.Submitted || g.phase != PhaseDetecting || g.stopping != stopNone {
		return
	}
	var answer PageAnswer
	for i := range e.Proposals {
		g.takeProposal(e.Proposals[i], keyAt(e.BatchKeys, i), &answer)
	}
	g.counts.Detected = len(e.Proposals)
	g.detected(now)
}

// dedupedText says who does what was submitted.
func (g *Group) dedupedText() string {
	if len(g.deduped) == 0 {
		return "DEDUPED: others are at it already"
	}
	first := g.deduped[0]
	text := fmt.Sprintf("DEDUPED: %q is active in %s", first.Key, first.By)
	if more := g.counts.AlreadyActive - 1; more > 0 {
		text += fmt.Sprintf(", and %d more with others", more)
	}
	return text
}
