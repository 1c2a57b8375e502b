package dag

type phase uint8

const (
	phaseNew phase = iota
	phaseActive
	phaseHeld
	phaseFinished
)

type ending uint8

const (
	endingNone ending = iota
	endingCanceled
	endingCanceledHard
	endingDeadline
	endingDeadlineHard

	endingCount
)

// hard reports whether tasks with the rule always are canceled too.
func (e ending) hard() bool { return e == endingCanceledHard || e == endingDeadlineHard }

// after: the first cancel or deadline determines the outcome.
func (e ending) after(k EventKind) ending {
	switch e {
	case endingNone:
		if k == EventDeadline {
			return endingDeadline
		}
		return endingCanceled
	case endingCanceled, endingCanceledHard:
		return endingCanceledHard
	case endingDeadline, endingDeadlineHard:
		return endingDeadlineHard
	}
	return e
}

type lifecycle struct {
	phase  phase
	paused bool
	// ending is set once a cancel or a deadline ends the run.
	ending ending
}

// Started reports whether the run got EventStart.
func (l *lifecycle) Started() bool { return l.phase != phaseNew }

// Paused reports whether the start of tasks is paused.
func (l *lifecycle) Paused() bool { return l.paused }

// Held reports whether the run waits for an operator.
func (l *lifecycle) Held() bool { return l.phase == phaseHeld }

// Ending reports whether the run is being canceled or has passed its deadline.
func (l *lifecycle) Ending() bool { return l.ending != endingNone }

// Finished reports whether the run is over.
func (l *lifecycle) Finished() bool { return l.phase == phaseFinished }

func (l *lifecycle) verdict(counts *[stateCount]int) Outcome {
	switch {
	case l.ending == endingCanceled || l.ending == endingCanceledHard:
		return OutcomeCanceled
	case l.ending != endingNone, counts[Failed]+counts[UpstreamFailed]+counts[Canceled] > 0:
		return OutcomeFailed
	}
	return OutcomeCompleted
}
