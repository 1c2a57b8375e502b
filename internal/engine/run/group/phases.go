package group

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// maxPhases bounds the phases that a group remembers. One that is suspended night after
// night has some four a day: the first half is kept, and of the rest the newest.
const maxPhases = 32

// enterPhase records the phase and its wait, if either has changed.
func (g *views) enterPhase(now time.Time) {
	entered := contract.GroupPhase{Phase: string(g.phase), At: now}
	if g.phase == PhaseWaiting {
		entered.Code = string(g.Wait(now).Code)
	}
	if n := len(g.phases); n > 0 && g.phases[n-1].Phase == entered.Phase && g.phases[n-1].Code == entered.Code {
		return
	}
	if len(g.phases) == maxPhases {
		g.phases = slices.Delete(g.phases, maxPhases/2, maxPhases/2+1)
	}
	g.engine.Changed(now)
	g.phases = append(g.phases, entered)
}
