package dag_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
)

// declaration returns the declaration of a graph.
func declaration(g *dag.Graph) dag.Input {
	in := dag.Input{Meta: g.Meta()}
	for i := range dag.Index(g.Len()) {
		t := dag.Task{
			ID: g.ID(i), Priority: g.Priority(i), Rule: g.Rule(i), Unmetered: g.Unmetered(i), Gated: g.Gated(i), FanOut: g.IsFanOut(i),
			Payload: g.Payload(i), Args: g.Args(i),
		}
		for _, d := range g.Needs(i) {
			t.Needs = append(t.Needs, g.ID(d))
		}
		in.Tasks = append(in.Tasks, t)
	}
	return in
}

// TestCodecRoundTrip is I13: a decoded graph equals the original in every accessor and in its bytes.
func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 20)
		if rapid.Bool().Draw(t, "attach") {
			in.Attachments = [][]byte{[]byte("two"), []byte("one"), []byte("two")}
		}
		g, err := dag.Build(in)
		require.NoError(t, err)
		data := g.Encode()
		back, err := dag.Decode(bytes.Clone(data))
		require.NoError(t, err)
		require.Equal(t, declaration(g), declaration(back))
		require.Equal(t, g.Hash(), back.Hash())

		again, err := dag.Build(declaration(back))
		require.NoError(t, err)
		if len(in.Attachments) == 0 {
			require.Equal(t, data, again.Encode(), "equal graphs have equal bytes")
		}
		for i := range dag.Index(g.Len()) {
			require.Equal(t, g.Fingerprint(i), back.Fingerprint(i))
			require.Equal(t, g.Dependants(i), back.Dependants(i))
			j, ok := back.Lookup(g.ID(i))
			require.True(t, ok)
			require.Equal(t, i, j)
		}
		_, ok := back.Lookup("nobody")
		require.False(t, ok)
	})
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	one := mustBuild(t, dag.Input{Attachments: [][]byte{[]byte("x"), []byte("y"), []byte("x")}})
	two := mustBuild(t, dag.Input{Attachments: [][]byte{[]byte("y"), []byte("x")}})
	assert.Equal(t, one.Hash(), two.Hash(), "the order of attachments does not matter, equal ones are one")
	_, ok := one.Attachment([32]byte{})
	assert.False(t, ok)
}

// TestFingerprintSeesWhatMatters changes every field; only the priority may not matter.
func TestFingerprintSeesWhatMatters(t *testing.T) {
	t.Parallel()
	base := func() dag.Input {
		return dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}, {ID: "c", Needs: []string{"a"}, Payload: []byte("p"), Args: []byte("q")}}}
	}
	of := func(change func(*dag.Task)) [32]byte {
		in := base()
		change(&in.Tasks[2])
		return mustBuild(t, in).Fingerprint(2)
	}
	plain := of(func(*dag.Task) {})
	assert.Equal(t, plain, of(func(x *dag.Task) { x.Priority = 9 }))
	for name, change := range map[string]func(*dag.Task){
		"id":      func(x *dag.Task) { x.ID = "d" },
		"needs":   func(x *dag.Task) { x.Needs = []string{"a", "b"} },
		"rule":    func(x *dag.Task) { x.Rule = dag.AllDone },
		"metered": func(x *dag.Task) { x.Unmetered = true },
		"gated":   func(x *dag.Task) { x.Gated = true },
		"fan-out": func(x *dag.Task) { x.FanOut = true },
		"payload": func(x *dag.Task) { x.Payload = []byte("pq") },
		"none":    func(x *dag.Task) { x.Payload = nil },
		"args":    func(x *dag.Task) { x.Args = []byte{} },
	} {
		assert.NotEqual(t, plain, of(change), name)
	}
}

// reseal gives damaged bytes a valid checksum, so that the decoder reads the damage.
func reseal(data []byte) []byte {
	if len(data) < 4 {
		return data
	}
	body := data[:len(data)-4]
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// TestDamage flips, cuts and extends encodings. The result must be an error or an equal value, never a
// panic.
func TestDamage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t, drawInput(t, 8), drawOptions(t))
		p.step(dag.EventStart, "", 0, nil)
		for range rapid.IntRange(0, 10).Draw(t, "events") {
			p.event()
		}
		damage := func(data []byte) []byte {
			data = bytes.Clone(data)
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "damage") {
			case 0:
				data[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			case 1:
				data = data[:at]
			default:
				data = append(data[:at:at], append([]byte{byte(rapid.IntRange(0, 255).Draw(t, "byte"))}, data[at:]...)...)
			}
			return data
		}
		broken := damage(p.graph.Encode())
		_, err := dag.Decode(broken)
		require.Error(t, err)
		decodeAny(t, reseal(broken))

		snapshot := damage(p.run.Snapshot())
		_, err = dag.Restore(p.graph, snapshot)
		require.Error(t, err)
		restoreAny(t, p.graph, reseal(snapshot))
	})
}

// decodeAny accepts an error or a graph whose bytes these are.
func decodeAny(t require.TestingT, data []byte) {
	g, err := dag.Decode(data)
	if err != nil {
		return
	}
	again, err := dag.Build(rebuildable(g))
	require.NoError(t, err, "what Decode accepts is a valid graph")
	require.Equal(t, data, again.Encode(), "what Decode accepts is canonical")
}

func rebuildable(g *dag.Graph) dag.Input {
	in := declaration(g)
	in.Attachments = g.Attachments()
	return in
}

// restoreAny accepts an error or a run that can be brought to its end.
func restoreAny(t require.TestingT, g *dag.Graph, data []byte) {
	r, err := dag.Restore(g, data)
	if err != nil {
		return
	}
	again, err := dag.Restore(g, r.Snapshot())
	require.NoError(t, err, "what Restore accepts can be written and restored again")
	require.Equal(t, r.Snapshot(), again.Snapshot())
	if !r.Started() {
		_, err = r.Next(dag.Event{Kind: dag.EventStart}, nil)
		require.NoError(t, err)
	}
	for range 2 {
		if !r.Finished() {
			_, err = r.Next(dag.Event{Kind: dag.EventCancelRun}, nil)
			require.NoError(t, err)
		}
	}
	for i := range dag.Index(r.Len()) {
		if r.State(i) == dag.Running {
			_, err = r.Next(dag.Event{Kind: dag.EventCanceled, Task: i}, nil)
			require.NoError(t, err)
		}
	}
	require.True(t, r.Finished())
}

// FuzzDecode feeds Decode arbitrary bytes with a valid checksum.
func FuzzDecode(f *testing.F) {
	f.Add(mustBuild(f, layered(30, true)).Encode())
	f.Add(mustBuild(f, dag.Input{}).Encode())
	f.Add(mustBuild(f, dag.Input{
		Meta: []byte("m"), Attachments: [][]byte{{1}},
		Tasks: []dag.Task{{ID: "b", Needs: []string{"a"}, Priority: -5, Args: []byte("x")}, {ID: "a", Rule: dag.Always, Payload: []byte("x")}},
	}).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := dag.Decode(data)
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
		decodeAny(t, reseal(data))
	})
}

// FuzzRestore feeds Restore arbitrary bytes with a valid checksum.
func FuzzRestore(f *testing.F) {
	g := mustBuild(f, layered(30, true))
	f.Add(dag.NewRun(g, dag.Options{}).Snapshot())
	f.Add(halfway(f, g).Snapshot())
	r := halfway(f, g)
	_, err := r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{
		{Task: dag.Task{ID: "x", Payload: []byte("p")}, Before: []string{"l9-000002"}}, {Task: dag.Task{ID: "y", Needs: []string{"x"}}},
	}}}, nil)
	require.NoError(f, err)
	f.Add(r.Snapshot())
	f.Fuzz(func(t *testing.T, data []byte) { restoreAny(t, g, reseal(data)) })
}

// TestTheOrderOfADeclarationIsNoDifference: a run resumes with a document whose tasks were put into another order.
func TestTheOrderOfADeclarationIsNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 10)
		before, err := dag.Build(in)
		require.NoError(t, err)
		in.Tasks = rapid.Permutation(in.Tasks).Draw(t, "other order")
		for k := range in.Tasks {
			in.Tasks[k].Needs = rapid.Permutation(in.Tasks[k].Needs).Draw(t, "needs")
		}
		after, err := dag.Build(in)
		require.NoError(t, err)
		prior := dag.NewRun(before, dag.Options{})
		_, err = prior.Next(dag.Event{Kind: dag.EventStart}, nil)
		require.NoError(t, err)
		drive2(t, prior)
		run, plan, err := dag.Resume(prior, after, dag.Options{}, dag.ResumeRequest{Run: "first"})
		require.NoError(t, err)
		require.Empty(t, plan.Diff)
		for _, imported := range plan.Imported {
			require.Equal(t, before.ID(imported.Prior), after.ID(imported.Task))
			require.Equal(t, prior.State(imported.Prior), run.State(imported.Task))
		}
	})
}
