package dagrun_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// keyed has one task with a key, and one that prints its result.
func keyed(more string) string {
	return "version: 1\nname: keyed\nparams: {day: 7}\ntasks:\n" +
		`  - {id: a, command: [dump, "{{.Params.day}}"], key: "dump/{{.Params.day}}"` + more + "}\n" +
		`  - {id: b, needs: a, command: [echo, "{{.Needs.a.Result.file}}"]}`
}

// executed plays a run that executes the task, and returns the kept result.
func executed(t *testing.T, text string, end run.Ending) *contract.KeyResult {
	t.Helper()
	p := start(t, text, dagrun.Config{})
	p.workers(worker("w", 2))
	require.Equal(t, []string{"a"}, p.asking())
	assert.Equal(t, []string{"key:dump/7"}, p.asks[0].Needs.Exclusive)
	p.grant(0)
	p.pass(time.Minute)
	p.ended("a", end)
	require.Len(t, p.released, 1)
	return p.released[0].Keep
}

func (p *play) grantKnown(known *contract.KeyResult) {
	d := p.asks[0]
	p.asks = p.asks[1:]
	p.held[d.Ask] = p.id(d)
	p.grants += 4
	p.do(p.g.Next(p.now, run.Granted{Item: d.Item, Ask: d.Ask, Fence: p.grants, Fences: 4, Result: known}))
}

func TestAResultIsTakenOver(t *testing.T) {
	t.Parallel()
	kept := executed(t, keyed(""), run.Ending{Result: []byte(`{"file":"x.gz"}`)})
	require.NotNil(t, kept)
	kept.By = "dag/keyed/1"

	p := start(t, keyed(""), dagrun.Config{})
	p.workers(worker("w", 2))
	p.pass(time.Minute)
	kept.At = p.now // The other one succeeded while this one waited.
	p.grantKnown(kept)
	assert.Equal(t, dag.Completed.String(), p.state("a"))
	assert.Zero(t, p.view("a").Attempts)
	assert.Equal(t, "dag/keyed/1/a", p.view("a").From+"/"+p.view("a").FromTask)
	assert.Empty(t, p.held, "the next one with the key does not wait")
	assert.Nil(t, p.released[0].Keep, "the result is known")
	require.Contains(t, p.running, "b")
	assert.Equal(t, []string{"echo", "x.gz"}, p.running["b"].Job.Command)
	p.ended("b", run.Ending{})
	p.roll(dagrun.Config{})
	assert.Equal(t, "dag/keyed/1/a", p.view("a").From+"/"+p.view("a").FromTask)
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

// TestASettingOfTheJobTypeIsPartOfWhatATaskDoes: after `apply` has changed a setting, the earlier result is not taken
// over.
func TestASettingOfTheJobTypeIsPartOfWhatATaskDoes(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: keyed\ntasks:\n  - {id: a, job_type: j, key: dump, key_valid: 1h}"
	types := func(handler, digest string) dagrun.Config {
		return dagrun.Config{JobTypes: map[string]dagrun.JobType{"j": {Handler: handler, Digest: digest}}}
	}
	first := start(t, text, types("h", "1"))
	first.workers(worker("w", 2))
	first.grant(0)
	first.ended("a", run.Ending{Result: []byte(`{"file":"x.gz"}`)})
	kept := first.released[0].Keep
	require.NotNil(t, kept)
	kept.By = "dag/keyed/1"
	for _, next := range []struct {
		cfg   dagrun.Config
		taken bool
	}{{types("h", "1"), true}, {types("h", "2"), false}, {types(dagrun.CommandHandler, "1"), false}} {
		p := start(t, text, next.cfg)
		p.workers(worker("w", 2))
		again := *kept
		again.At = p.now
		p.grantKnown(&again)
		assert.Equal(t, next.taken, p.state("a") == dag.Completed.String(), next.cfg)
	}
}

// TestWhatIsToRunAgainIsExecuted: an operator's request to run again ignores the kept result.
func TestWhatIsToRunAgainIsExecuted(t *testing.T) {
	t.Parallel()
	text := keyed(", key_valid: 1h") + "\n  - {id: c, approval: {prompt: more}}"
	kept := executed(t, text, run.Ending{Result: []byte(`{"file":"x.gz"}`)})
	kept.At, kept.By = epoch, "dag/keyed/1"
	p := start(t, text, dagrun.Config{})
	p.workers(worker("w", 2))
	p.grantKnown(kept)
	require.Equal(t, "completed", p.state("a"))
	p.ended("b", run.Ending{})
	p.pass(time.Minute)
	p.operate(dagrun.Request{Kind: dagrun.Rerun, Tasks: []string{"a"}})
	p.roll(dagrun.Config{})
	p.workers(worker("w", 2))
	p.grantKnown(kept)
	require.Contains(t, p.running, "a")
	p.ended("a", run.Ending{Result: []byte(`{"file":"y.gz"}`)})
	assert.Empty(t, p.view("a").From)
}

// TestWhatIsNotTakenOver is executed: another task's, or one from before.
func TestWhatIsNotTakenOver(t *testing.T) {
	t.Parallel()
	kept := executed(t, keyed(""), run.Ending{Result: []byte(`{"file":"x.gz"}`)})
	for name, c := range map[string]struct {
		more string
		made func(k *contract.KeyResult)
		take bool
	}{
		"before this one began":       {"", func(k *contract.KeyResult) { k.At = epoch.Add(-time.Second) }, false},
		"not longer ago than allowed": {", key_valid: 1h", func(k *contract.KeyResult) { k.At = epoch.Add(-time.Hour) }, true},
		"longer ago than allowed":     {", key_valid: 1h", func(k *contract.KeyResult) { k.At = epoch.Add(-time.Hour - time.Second) }, false},
		"does something else":         {", node: w", func(k *contract.KeyResult) { k.At = epoch }, false},
		"another key":                 {"", func(k *contract.KeyResult) { k.At, k.Object = epoch, "key:dump/8" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := *kept
			c.made(&known)
			p := start(t, keyed(c.more), dagrun.Config{})
			p.workers(worker("w", 2))
			p.grantKnown(&known)
			_, runs := p.running["a"]
			assert.Equal(t, !c.take, runs)
		})
	}
}

// TestWhatIsNotKept is executed by the next one with the key.
func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	assert.Nil(t, executed(t, keyed(""), run.Ending{Failure: contract.FailurePermanent, Message: "no"}))
	assert.Nil(t, executed(t, keyed(""), run.Ending{Result: []byte(`{"x":"` + strings.Repeat("x", contract.MaxKeyResult) + `"}`)}))
	assert.Nil(t, executed(t, keyed(""), run.Ending{Result: []byte(`{"tasks":[{"id":"c","command":["x"]}]}`)}), "its tasks are part of what it did")
	require.NotNil(t, executed(t, one+`{id: a, command: [x], key: "dump/7"}`, run.Ending{}), "no result is one, too")
}

func TestFaultsOfKeys(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		`key: "", command: [x]`:                      "key is empty: name what the task does, or remove it",
		"key_valid: 1h, command: [x]":                "has key_valid but no key",
		"key: x, key_valid: 25h, command: [x]":       "key_valid 25h is too long: a result is kept for 24h at most",
		"key: x, sleep: 1s":                          "key has no meaning for a task of kind sleep",
		"key: x, dag: other.yaml":                    "a sub-DAG has no key: give its tasks keys",
		`key: "{{.Params.nothing}}", command: [x]`:   "nothing",
		`key: "{{.Needs.a.Result.x}}", command: [x]`: "a",
	} {
		loaded, err := spec.Load("dag.yaml", []byte(one+"{id: t, "+task+"}\n"))
		if err == nil {
			_, err = spec.Compile(loaded, nil)
		}
		assert.ErrorContains(t, err, want, task)
	}
}

// site is several runs and their admission, with messages on their way.
type site struct {
	t     *rapid.T
	now   time.Time
	core  *admission.Core
	runs  []*play
	to    [][]contract.AdmissionRequest // from each run, in order
	back  [][]contract.AdmissionGrant
	items []map[string]contract.AdmissionItem // requests and grants of each
	has   []map[string]contract.AdmissionHeld
	kept  [][]contract.KeyResult // reports of each
	// done counts how often each key was executed with success.
	done map[string]int
}

func holder(k int) contract.AdmissionHolder {
	return contract.AdmissionHolder{WorkflowID: fmt.Sprintf("dag/d/%d", k), FirstRunID: "1"}
}

func (s *site) send(k int, in contract.AdmissionRequest) {
	in.Holder = holder(k)
	s.to[k] = append(s.to[k], in)
}

// drain turns the commands of a run into messages.
func (s *site) drain(k int) {
	p := s.runs[k]
	for _, d := range p.released {
		id := contract.AskID(p.id(d), d.Ask)
		delete(s.items[k], id)
		delete(s.has[k], id)
		in := contract.AdmissionRequest{Release: []string{id}}
		if d.Keep != nil {
			in.Results = []contract.KeyResult{*d.Keep}
			s.kept[k] = append(s.kept[k], *d.Keep)
		}
		s.send(k, in)
	}
	p.released = nil
	for _, d := range p.asks {
		id := contract.AskID(p.id(d), d.Ask)
		if _, known := s.items[k][id]; known {
			continue
		}
		item := contract.AdmissionItem{ID: id, Fences: 4}
		for _, object := range d.Needs.Exclusive {
			item.Objects = append(item.Objects, contract.AdmissionObject{Name: object})
		}
		s.items[k][id] = item
		s.send(k, contract.AdmissionRequest{Items: []contract.AdmissionItem{item}})
	}
}

func (s *site) step(event admission.Event) {
	for _, decision := range s.core.Next(s.now, event) {
		if granted, ok := decision.(admission.Granted); ok {
			var k int
			_, err := fmt.Sscanf(granted.Holder.WorkflowID, "dag/d/%d", &k)
			require.NoError(s.t, err)
			s.back[k] = append(s.back[k], granted.AdmissionGrant)
		}
	}
}

// answer gives a run its oldest answer.
func (s *site) answer(k int) {
	grant, p := s.back[k][0], s.runs[k]
	s.back[k] = s.back[k][1:]
	item, waits := s.items[k][grant.ID]
	if _, has := s.has[k][grant.ID]; !waits || has {
		return
	}
	s.has[k][grant.ID] = contract.AdmissionHeld{AdmissionItem: item, Fence: grant.Fence, Since: s.now}
	task, ask, _ := contract.ItemOfAsk(grant.ID)
	p.asks = slices.DeleteFunc(p.asks, func(d decision) bool { return d.Ask == ask })
	p.held[ask] = task
	p.now = s.now
	p.do(p.g.Next(s.now, run.Granted{Item: p.item(task), Ask: ask, Fence: grant.Fence, Fences: 4, Result: grant.Result}))
	s.drain(k)
}

// restart terminates admission and starts it again with its durable state. Unread messages are lost.
func (s *site) restart() {
	data, err := json.Marshal(s.core.Durable())
	require.NoError(s.t, err)
	var durable admission.Durable
	require.NoError(s.t, json.Unmarshal(data, &durable))
	s.core = admission.New(s.now, durable)
	expected := admission.Expected{Final: true}
	for k := range s.runs {
		for len(s.back[k]) > 0 { // They were sent before the question.
			s.answer(k)
		}
		expected.IDs = append(expected.IDs, holder(k).WorkflowID)
		in := contract.AdmissionRequest{Reassert: true, Results: s.kept[k]}
		s.to[k] = nil
		for _, id := range slices.Sorted(mapsKeys(s.items[k])) {
			if held, has := s.has[k][id]; has {
				in.Held = append(in.Held, held)
			} else {
				in.Items = append(in.Items, s.items[k][id])
			}
		}
		s.send(k, in)
	}
	s.step(expected)
}

func mapsKeys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// TestOneTaskOneExecution: in any order of messages, and with any number of restarts and continue-as-new of admission,
// each key is executed with success once, by one task at a time. All tasks with the key get the same result.
func TestOneTaskOneExecution(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &site{t: t, now: epoch, core: admission.New(epoch, admission.Durable{}), done: map[string]int{}}
		s.step(admission.Expected{Final: true})
		keys := rapid.IntRange(1, 3).Draw(t, "keys")
		text := fmt.Sprintf("version: 1\nname: d\nconcurrency: %d\ntasks:\n", rapid.IntRange(1, 5).Draw(t, "concurrency"))
		for i := range rapid.IntRange(1, 4).Draw(t, "tasks") {
			text += fmt.Sprintf("  - {id: t%d, command: [make, k%d], key: k%d, key_valid: 24h, retries: {limit: 20, backoff: 1s}}\n", i, i%keys, i%keys)
		}
		for k := range rapid.IntRange(1, 3).Draw(t, "runs") {
			s.runs = append(s.runs, start(t, text, dagrun.Config{}))
			s.to, s.back, s.kept = append(s.to, nil), append(s.back, nil), append(s.kept, nil)
			s.items, s.has = append(s.items, map[string]contract.AdmissionItem{}), append(s.has, map[string]contract.AdmissionHeld{})
			s.runs[k].workers(worker("w", 4))
			s.drain(k)
		}
		for range 2000 {
			if !s.act(rapid.IntRange(0, 99).Draw(t, "what")) {
				break
			}
			s.check()
		}
		for k, p := range s.runs {
			require.NotNil(t, p.end, "run %d has ended", k)
			require.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
		}
		for key, n := range s.done {
			require.Equal(t, 1, n, key)
		}
	})
}

// act does one thing; false: there is nothing left to do.
func (s *site) act(what int) bool {
	s.now = s.now.Add(100 * time.Millisecond)
	switch {
	case what == 0:
		s.restart()
		return true
	case what == 1:
		data, err := json.Marshal(s.core.Snapshot())
		require.NoError(s.t, err)
		var saved admission.Snapshot
		require.NoError(s.t, json.Unmarshal(data, &saved))
		s.core, err = admission.Restore(saved)
		require.NoError(s.t, err)
		return true
	}
	var moves []func()
	for k, p := range s.runs {
		if len(s.to[k]) > 0 {
			moves = append(moves, func() {
				in := s.to[k][0]
				s.to[k] = s.to[k][1:]
				s.step(admission.Requested(in))
				if what%7 == 0 {
					s.step(admission.Requested(in)) // A message may be repeated.
				}
			})
		}
		if len(s.back[k]) > 0 {
			moves = append(moves, func() { s.answer(k) })
		}
		for _, id := range p.ids() {
			moves = append(moves, func() { s.end(k, id, what%4 == 0) })
		}
		if p.end == nil {
			moves = append(moves, func() {
				p.now = s.now.Add(-time.Second)
				p.pass(time.Second)
				s.drain(k)
			})
		}
	}
	if len(moves) == 0 {
		return false
	}
	moves[what%len(moves)]()
	return true
}

// end ends an attempt.
func (s *site) end(k int, id string, fails bool) {
	p := s.runs[k]
	p.now = s.now
	key := p.running[id].Job.Command[1]
	ending := run.Ending{Result: fmt.Appendf(nil, `{"made":"%s by %d"}`, key, k)}
	if fails {
		ending = run.Ending{Failure: contract.FailureFailed, Message: "no"}
	} else {
		s.done[key]++
	}
	p.ended(id, ending)
	s.drain(k)
}

// check: a key is executed by one task at a time.
func (s *site) check() {
	busy := map[string]int{}
	for _, p := range s.runs {
		for _, id := range p.ids() {
			busy[p.running[id].Job.Command[1]]++
		}
	}
	for key, n := range busy {
		require.Equal(s.t, 1, n, key)
	}
}

// TestASuccessorIsExecuted: the end of a task begins the next one with the same key, which does not take over the result.
func TestASuccessorIsExecuted(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: keyed\ntasks:\n  - {id: a, command: [verify], key: k}\n  - {id: b, needs: a, command: [verify], key: k}", dagrun.Config{})
	p.workers(worker("w", 2))
	p.grant(0)
	p.pass(time.Minute)
	p.ended("a", run.Ending{Result: []byte(`{"ok":true}`)})
	require.Len(t, p.released, 1)
	kept := p.released[0].Keep
	require.NotNil(t, kept)
	kept.By = "dag/keyed/1"
	p.pass(time.Second)
	p.grantKnown(kept)
	require.Contains(t, p.running, "b")
	p.ended("b", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}
