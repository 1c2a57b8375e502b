package dispatch

import "time"

// LoseJob ends the running attempt of a job whose worker is given up. What it
// ends with is a lost worker, or what really happened if that was quicker; from
// then on the attempt is not heard any more.
type LoseJob struct {
	Job, Attempt int
	Reason       string
}

func (LoseJob) decision() {}

// loseGone gives up what still counts as running on a worker that the registry
// has given up: OFFLINE without a sign of life, or an incarnation that lost the
// id to another one. Most such attempts have timed out by their heartbeat long
// before; this ends the others, those with a heartbeat timeout beyond the
// registry's thresholds and those of a fenced worker that is still alive.
//
// A running attempt keeps its activity until the server has ended that: two
// activities of one job cannot be open at once.
func (g *Group) loseGone(now time.Time) {
	for _, j := range g.jobs {
		if j.State != StateRunning && j.State != StateRecalling {
			continue
		}
		why := g.workers.Gone(j.Worker, j.Instance)
		switch {
		case why == "":
		case j.State == StateRecalling:
			j.Lost.Message = why
			g.lose(j, now)
		case j.Losing != j.Attempt:
			j.Losing = j.Attempt
			g.decide(LoseJob{Job: j.N, Attempt: j.Attempt, Reason: why})
		}
	}
	g.loseDetection(now)
}

func (g *Group) loseDetection(now time.Time) {
	d := &g.detect
	if !d.Running {
		return
	}
	if why := g.workers.Gone(d.Worker, d.Instance); why != "" {
		g.decide(CancelDetection{Attempt: d.Attempt})
		DetectionEnded{Attempt: d.Attempt, Failure: FailureWorkerLost, Message: why}.apply(g, now)
	}
}
