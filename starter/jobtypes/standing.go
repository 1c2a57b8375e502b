package jobtypes

import "github.com/roundsman/roundsman/internal/engine/explain"

// Lack names the missing property of [JobType.Missing], without the code and the remedy.
func (t JobType) Lack() string { return t.lacks.Text() }

// Standing is the state of the job type with its cause, after AddHolds, AddServed and AddOutcomes.
func (t JobType) Standing() explain.Standing {
	facts := explain.StandingFacts{
		Name: t.Name, Fault: t.Fault, Off: t.DisabledByConfig, Paused: t.Paused, PauseNote: t.PauseNote, PausedBy: t.PausedBy, PausedAt: t.PausedAt,
		Hold: t.HeldBack, Missing: t.lacks, Running: len(t.Running), Waits: t.waits,
	}
	if t.Window != nil && !t.Window.Open {
		facts.Closed, facts.ClosedSince, facts.ClosedUntil = t.Window.Closed, t.Window.Since, t.Window.Until
	}
	return explain.StandingOf(facts)
}
