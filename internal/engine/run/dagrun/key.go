package dagrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// The release of a key carries the result to the next holder.
func keyObject(key string) string { return "key:" + key }

func (g *catalog) needs(t *task) run.Needs {
	needs := run.Needs{Pools: t.definition.Resources, Budget: g.budgetOf(t)}
	if t.rendered != nil {
		needs.Exclusive, needs.Shared = t.rendered.Exclusive, t.rendered.Shared
		if t.rendered.Key != "" {
			needs.Exclusive = append(slices.Clip(needs.Exclusive), keyObject(t.rendered.Key))
		}
	}
	return needs
}

func (g *catalog) digest(t *task) string {
	jobType := g.cfg.JobTypes[t.definition.JobType]
	encoded, err := json.Marshal(struct {
		Kind     spec.Kind
		JobType  string
		Handler  string `json:",omitempty"`
		Settings string `json:",omitempty"`
		*savedRendered
	}{t.definition.Kind, t.definition.JobType, jobType.Handler, jobType.Digest, saveRendered(t.rendered)})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// takeOver ends a task with the result of another task with its key and digest, if new enough.
func (g *Graph) takeOver(t *task, known *contract.KeyResult, now time.Time) bool {
	if known == nil || t.rendered == nil || t.rendered.Key == "" || known.Object != keyObject(t.rendered.Key) || known.Digest != g.digest(t) {
		return false
	}
	valid := t.definition.KeyValid.Std()
	if g.book.rerun[t.i] {
		valid = 0
	}
	// The end of another task of this run may begin this one.
	if !known.At.After(t.startedAt) && now.Sub(known.At) > valid {
		return false
	}
	g.engine.Withdraw(int(t.i))
	g.released(t, now)
	g.book.takeOver(t.i, known.By+"/"+known.Task)
	g.succeed(t, g.book.attempts[t.i], known.Result, "", now)
	return true
}

func (g *records) noteRerun(moves []dag.Transition) {
	for _, m := range moves {
		definition, err := g.program.Definition(m.Task)
		if m.From != dag.Completed || m.To.Terminal() || err != nil || definition.Key == "" {
			continue
		}
		if g.book.rerun == nil {
			g.book.rerun = map[dag.Index]bool{}
		}
		g.book.rerun[m.Task] = true
	}
}

// hand adds the result of a task to the release of its key. A result with added tasks is not kept: they are part of the work.
func (g *Graph) hand(t *task, result []byte, now time.Time) {
	if t.rendered == nil || t.rendered.Key == "" || len(result) > contract.MaxKeyResult {
		return
	}
	for k := len(g.out) - 1; k >= 0; k-- {
		if d, ok := g.out[k].(run.Decision); ok && d.Kind == run.Release && d.Item == int(t.i) {
			g.out[k] = ReleaseKey{d, contract.KeyResult{Object: keyObject(t.rendered.Key), Digest: g.digest(t), Result: result, At: now, Task: g.run.ID(t.i)}}
			return
		}
	}
}

const maxTakenBytes = 128 << 10

func (b *book) takeOver(i dag.Index, from string) {
	b.execute(i)
	if b.takenBytes+len(from) > maxTakenBytes {
		return
	}
	if b.taken == nil {
		b.taken = map[dag.Index]string{}
	}
	b.taken[i] = from
	b.takenBytes += len(from)
}

func (b *book) execute(i dag.Index) {
	delete(b.rerun, i)
	b.takenBytes -= len(b.taken[i])
	delete(b.taken, i)
}
