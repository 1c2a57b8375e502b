package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// WaitCode says what kind of thing is waited for. They are the wire's.
type WaitCode string

// The codes of what a job, or a group, waits for.
const (
	WaitDetecting   WaitCode = "DETECTING"
	WaitClaims      WaitCode = "CLAIMS_PENDING"
	WaitPaused      WaitCode = "PAUSED"
	WaitBackoff     WaitCode = "RETRY_BACKOFF_UNTIL"
	WaitNotBefore   WaitCode = "NOT_BEFORE"
	WaitResources   WaitCode = "RESOURCES_PENDING"
	WaitGlobalLimit WaitCode = "GLOBAL_LIMIT"
	WaitWorkerLimit WaitCode = "PER_WORKER_LIMIT"
	WaitSlots       WaitCode = "ALL_SLOTS_FULL"
	WaitNoWorker    WaitCode = "NO_WORKER"
	WaitUnreachable WaitCode = "WORKER_UNREACHABLE"
	WaitCordoned    WaitCode = "WORKER_CORDONED"
	WaitOutcome     WaitCode = "OUTCOME_PENDING"
	// WaitStarting: nothing is in its way, it takes a moment.
	WaitStarting  WaitCode = "STARTING"
	WaitWindowFit WaitCode = "DOES_NOT_FIT_WINDOW"
	WaitWindow    WaitCode = "WINDOW_CLOSED_UNTIL"
)

// Wait is what a job that does not run waits for. A zero Code: for nothing.
type Wait struct {
	Code WaitCode
	// Object is the thing: a worker, a handler, a job type.
	Object string
	// Ask is the one of [Acquire] that has no answer yet.
	Ask int
	// Since is when it began to wait for this; Until when that ends, if known.
	Since, Until time.Time
	// Detail is a sentence for people.
	Detail string
}

// sharedWorker stands for a worker that nobody knows: jobs of a shared queue are
// not sent to one.
const sharedWorker = "of the shared queue"

// waitOf says why a job does not run.
func (g *Group) waitOf(j *job, now time.Time) Wait {
	switch j.State {
	case StateHeld:
		return Wait{Code: WaitUnreachable, Object: j.Worker, Since: j.WaitsAt, Detail: fmt.Sprintf("on_worker_loss is hold: worker %s must come back, or cancel the job", j.Worker)}
	case StateRecalling:
		worker := cmp.Or(j.Worker, sharedWorker)
		return Wait{
			Code: WaitOutcome, Object: worker, Since: j.WaitsAt, Until: j.WaitsAt.Add(RecallGrace),
			Detail: fmt.Sprintf("worker %s was lost; its outcome may still arrive", worker),
		}
	case StatePending:
		return g.waitOfPending(j, now)
	case StateRunning, StateCompleted, StateFailed, StateCanceled, StateStale, StateExpired, StateNotStarted:
	}
	return Wait{}
}

func (g *Group) waitOfPending(j *job, now time.Time) Wait {
	limit := g.cfg.Policy.GlobalExecutionConcurrency
	late := Wait{}
	if g.phase == PhaseDispatching {
		late = g.lateWait(j, now)
	}
	switch {
	case g.phase == PhaseDetecting:
		return Wait{Code: WaitDetecting, Since: g.startedAt, Detail: "the detection has not ended"}
	case g.phase == PhaseClaiming:
		return Wait{Code: WaitClaims, Since: g.turnBegan(), Detail: "the group waits for its claims"}
	case g.paused:
		return Wait{Code: WaitPaused, Since: g.pausedAt, Detail: g.pauseText()}
	case g.returning:
		return g.awayWait()
	case late.Code != "":
		return late
	case j.ReadyAt.After(now) && j.Retries > 0:
		return Wait{Code: WaitBackoff, Since: j.WaitsAt, Until: j.ReadyAt, Detail: fmt.Sprintf("the next attempt comes at %s; attempt %d failed: %s", j.ReadyAt.UTC().Format(time.RFC3339), j.Attempt, j.Error)}
	case j.ReadyAt.After(now):
		return Wait{Code: WaitNotBefore, Since: j.WaitsAt, Until: j.ReadyAt, Detail: "not_before " + j.ReadyAt.UTC().Format(time.RFC3339)}
	case j.Door == doorAsked:
		return Wait{Code: WaitResources, Ask: j.Ask, Since: j.AskedAt, Detail: "its resources: " + needsText(j.Proposal)}
	case g.inFlight >= limit:
		return Wait{Code: WaitGlobalLimit, Object: g.cfg.JobType, Since: j.QueuedAt, Detail: fmt.Sprintf("global_execution_concurrency of %d is reached", limit)}
	}
	switch fenceless := g.fenceEnd > 0 && g.fence >= g.fenceEnd && j.Door != doorOpen; {
	case g.needsDoor(j) && g.doors >= limit-g.inFlight:
		return Wait{Code: WaitGlobalLimit, Object: g.cfg.JobType, Since: j.QueuedAt, Detail: fmt.Sprintf("%d jobs run and %d wait for their resources: global_execution_concurrency of %d is reached", g.inFlight, g.doors, limit)}
	case !g.needsDoor(j) && fenceless:
		return Wait{Code: WaitClaims, Since: j.QueuedAt, Detail: "the group has asked for more fences"}
	}
	if j.isDAG() {
		return Wait{Code: WaitStarting, Object: g.cfg.JobType, Since: j.QueuedAt, Detail: "it is a DAG, which needs no worker, and is about to start"}
	}
	return g.waitForWorker(j, now)
}

// waitForWorker tells apart why no worker takes the job: there is none, the one
// it is pinned to is away, none has a slot, or the policy allows no more there.
func (g *Group) waitForWorker(j *job, now time.Time) Wait {
	c := g.queue.classes[j.class()]
	if c != nil && !c.noWorkerSince.IsZero() {
		wait := Wait{Code: WaitNoWorker, Object: placement.Spell(g.cfg.Handler, c.labels), Since: c.waitingSince(j), Detail: g.noWorkerText(c)}
		if ids, why := g.workers.Doubted(c.node, c.labels); ids != "" {
			wait.Code, wait.Object, wait.Detail = WaitUnreachable, ids, why
		} else if w := g.workers.Find(c.node); c.node != "" && w != nil {
			wait.Code, wait.Object = WaitUnreachable, c.node
			wait.Detail += ": " + w.Reason(now)
			if w.Kept() {
				wait.Code = WaitCordoned
			}
		} else if c.node != "" {
			wait.Object, wait.Until = c.node, wait.Since.Add(g.cfg.Policy.ExecutionTimeout.Std())
			wait.Detail += ": no such worker is registered, and the job is pinned to it; until then it waits, then it fails"
		}
		return wait
	}
	var full, limited []string
	busy := "all fitting workers are busy"
	for _, w := range g.workers.Members() {
		switch {
		case !w.Alive() || w.Offer.places() == 0 || c != nil && !w.Fits(c.node, c.labels):
		case w.Room(g.kind()) && !w.CoolUntil.After(now):
			limited = append(limited, w.ID)
		default:
			full = append(full, w.ID)
			busy = addCrowd(busy, w, len(full))
		}
	}
	slices.Sort(full)
	if len(limited) > 0 {
		return Wait{Code: WaitWorkerLimit, Object: strings.Join(limited, ", "), Since: j.QueuedAt, Detail: fmt.Sprintf("per_worker_execution_concurrency of %d is reached", g.cfg.Policy.PerWorkerExecutionConcurrency)}
	}
	if len(full) == 0 {
		return Wait{Code: WaitStarting, Object: g.cfg.JobType, Since: j.QueuedAt, Detail: "it is about to be placed"}
	}
	return Wait{Code: WaitSlots, Object: strings.Join(full, ", "), Since: j.QueuedAt, Detail: busy}
}

// maxCrowds bounds for how many workers it is told what others use there.
const maxCrowds = 10

func addCrowd(text string, w *worker, n int) string {
	if crowd := w.Crowd(); crowd != "" && n <= maxCrowds {
		return text + "; " + crowd
	}
	return text
}

// groupWait says what the group as a whole waits for.
func (g *Group) groupWait() Wait {
	switch {
	case g.phase == PhaseEnded:
	case g.paused:
		return Wait{Code: WaitPaused, Since: g.pausedAt, Detail: g.pauseText()}
	case g.phase == PhaseDetecting && !g.detect.Running && g.stopping == stopNone && g.busyDetectors() != "":
		return Wait{Code: WaitSlots, Object: g.busyDetectors(), Since: g.detect.BusySince, Detail: "other detections use the detect slots of every worker that could detect (raise --max-detect if they are slow)"}
	case g.phase == PhaseDetecting && !g.detect.Running && g.stopping == stopNone:
		return Wait{Code: WaitNoWorker, Object: g.cfg.Handler, Since: g.startedAt, Detail: fmt.Sprintf("no worker with handler %s is available to detect", g.cfg.Handler)}
	case g.phase == PhaseClaiming:
		return Wait{Code: WaitClaims, Since: g.turnBegan(), Detail: "it waits for its claims"}
	case g.phase == PhaseAway:
		return g.away
	}
	return Wait{}
}

// pauseText says who paused the group, and why.
func (g *Group) pauseText() string {
	text := "the run is paused"
	if g.pausedBy != "" {
		text += " by " + g.pausedBy
	}
	if g.pauseNote != "" {
		text += ": " + g.pauseNote
	}
	return text
}
