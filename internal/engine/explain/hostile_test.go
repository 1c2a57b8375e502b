package explain

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
)

// fill sets a value to anything that fits its type: empty, extreme, or a known word at a wrong place.
func fill(rng *rand.Rand, v reflect.Value, depth int) {
	if at, ok := reflect.TypeAssert[*time.Time](v.Addr()); ok {
		*at = []time.Time{{}, now, now.Add(time.Hour), now.AddDate(-500, 0, 0), now.AddDate(7000, 0, 0)}[rng.IntN(5)]
		return
	}
	if raw, ok := reflect.TypeAssert[*json.RawMessage](v.Addr()); ok {
		*raw = json.RawMessage(`{"x":[1]}`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(word(rng))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n := []int64{0, 0, 1, 2, 7, -1, math.MaxInt32, math.MinInt64}[rng.IntN(8)]; !v.OverflowInt(n) {
			v.SetInt(n)
		}
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(rng.IntN(4))) //nolint:gosec // small
	case reflect.Float64:
		v.SetFloat([]float64{0, -1, 1e300, math.Inf(1)}[rng.IntN(4)])
	case reflect.Pointer:
		if depth > 0 && rng.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rng, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if n := rng.IntN(4); depth > 0 && n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(rng, v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		if depth > 0 && rng.IntN(2) == 0 {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(rng, key, depth-1)
			fill(rng, value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(rng, v.Field(i), depth)
			}
		}
	}
}

func word(rng *rand.Rand) string {
	codes := Codes()
	words := []string{
		"", "", "a", "a", "b", ", ", "/", "//", "group/scrub-1", "group/-", "dag/", "dag/x/y", "dag/x/y/z", "worker/", "jobtype/a/b", "…", "a, b, …", "\u202e", "\x00", "`", "%d%s", "running", "failed",
		contract.PhaseHeld, "preparing", string(spec.KindApproval), string(spec.KindSleep), string(contract.WorkerOffline), string(contract.WorkerOnline),
		string(contract.WorkerSilent), string(contract.WorkerBack), string(contract.WorkerRemoved), string(contract.WorkerCleared), strings.Repeat("long ", 50),
	}
	if rng.IntN(3) == 0 {
		return string(codes[rng.IntN(len(codes))])
	}
	return words[rng.IntN(len(words))]
}

func filled[T any](rng *rand.Rand) T {
	var value T
	fill(rng, reflect.ValueOf(&value).Elem(), 4)
	return value
}

// someFacts are those of a thing: an item has a run, and the runs of a job type have a job type.
func someFacts(seed, n uint64) Facts {
	f := filled[Facts](rand.New(rand.NewPCG(seed, n)))
	if f.Run == nil {
		f.Item = nil
	}
	for _, inner := range f.Inner {
		for i := range inner.Reasons {
			inner.Reasons[i] = inner.Reasons[i].with(Remedy{Hint: "look inside"})
		}
	}
	if len(f.Runs) > 0 && f.Type == nil {
		f.Type = &TypeFacts{}
	}
	return f
}

// TestAnyFactsAreExplained: facts come from other processes and from older versions. They crash nothing, stay as they
// are, and each reason has one entry, at its place, with the commands of its actions.
func TestAnyFactsAreExplained(t *testing.T) {
	t.Parallel()
	rank := map[contract.Code]int{}
	for i, code := range Codes() {
		rank[code] = i
	}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		for n := range uint64(4) {
			f, before := someFacts(seed, n), someFacts(seed, n)
			reasons := Why(f)
			require.Equal(t, before, f, "the facts are only read")
			require.Equal(t, reasons, Why(f))
			require.True(t, slices.IsSortedFunc(reasons, func(a, b Reason) int { return rank[a.Code] - rank[b.Code] }))
			type thing struct {
				code       contract.Code
				object, of string
			}
			known := map[thing]bool{}
			for _, r := range reasons {
				key := thing{code: r.Code, object: r.Object}
				if r.Code == contract.CodeApproval {
					key.of = r.Of
				}
				require.False(t, known[key], "%v is listed twice", key)
				known[key] = true
				for _, a := range r.Actions {
					require.Contains(t, r.Remedy, "`"+a.Command+"`")
				}
			}
			require.NotEmpty(t, Nothing(f))
			NeedsPerson([]Thing{{Kind: "run", Name: "group/scrub-1", JobType: "scrub", Facts: f}, {Kind: "run", Facts: f}})
		}
	})
}

// TestAnyStateHasAStanding also for states, kinds and numbers that this version does not know.
func TestAnyStateHasAStanding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 8))
		for range 8 {
			run := filled[RunStandingFacts](rng)
			standing := RunStandingOf(run)
			require.NotEmpty(t, standing.Role)
			require.NotNil(t, standing.Operations)
			require.Equal(t, run.Open, standing.Open)
			require.Equal(t, run.Open, slices.Contains(standing.Operations, MayCancelRun), "an open run can be canceled, an ended one cannot")
			item := filled[ItemStandingFacts](rng)
			of := ItemStandingOf(item)
			require.NotEmpty(t, of.Role)
			require.Equal(t, item.Open && !of.Ended, slices.Contains(of.Operations, MayCancelItem))
			require.NotEmpty(t, StandingOf(filled[StandingFacts](rng)).State)
			worker := filled[contract.WorkerDetail](rng)
			Worker(&worker)
			Phases(filled[[]contract.GroupPhase](rng))
			GroupFailures(filled[[]contract.JobError](rng))
			TargetOf(filled[contract.AuditEntry](rng))
			for _, holder := range RunsIn(word(rng) + " " + word(rng)) {
				require.NotEmpty(t, holder.Run)
			}
		}
	})
}

// TestALostTimeIsNoEndlessText: a change without its time, by an older registry, lies 292 years before its beginning.
func TestALostTimeIsNoEndlessText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "OFFLINE for -106751 days", Transition(contract.WorkerTransition{Code: contract.WorkerExpired, Since: now}))
}
