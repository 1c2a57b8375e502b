package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/jobtype"
)

func noise(r *rand.Rand, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return string(text)
}

func packedBytes(t *testing.T, c *Core) int {
	t.Helper()
	packed, err := pack.JSON(c.Snapshot())
	require.NoError(t, err)
	return len(packed)
}

// TestWhatIsAcceptedCanTravel: the core is filled with names that do not compress. It refuses
// requests before the state is too large for one payload.
func TestWhatIsAcceptedCanTravel(t *testing.T) {
	t.Parallel()
	for kind, item := range map[string]func(r *rand.Rand, i int) Request{
		"turns":  func(r *rand.Rand, _ int) Request { return Request{ID: "lane", Lane: noise(r, 20)} },
		"claims": func(r *rand.Rand, _ int) Request { return Request{ID: "claims", Keys: []byte(noise(r, 8*5000))} },
		"pools": func(r *rand.Rand, i int) Request {
			return Request{ID: fmt.Sprint(i), Pools: []Amount{{Pool: noise(r, 10), N: 1, Size: 1}}}
		},
		"objects": func(r *rand.Rand, i int) Request {
			return Request{ID: noise(r, 12), For: noise(r, 9), Objects: []Object{{Name: noise(r, 30)}, {Name: fmt.Sprint(i % 100)}}}
		},
		"short": func(*rand.Rand, int) Request { return Request{ID: "f"} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
			p := ready()
			var refused []Decision
			for i := 0; len(refused) == 0 && i < 40_000; i++ {
				p.pass(time.Duration(r.IntN(1e9)))
				holder := Holder{WorkflowID: "group/" + noise(r, 30), FirstRunID: noise(r, 36)}
				for _, decision := range p.step(Requested{
					Holder: holder, JobType: noise(r, 8), Grace: jobtype.Duration(grace), DeclaredAt: p.now, Items: []Request{item(r, i)},
				}) {
					if d, ok := decision.(Refused); ok {
						refused = append(refused, d)
					}
				}
			}
			require.Len(t, refused, 1)
			refusal, ok := refused[0].(Refused)
			require.True(t, ok)
			assert.Equal(t, contract.RefusedFull, refusal.Code)
			assert.Contains(t, refusal.String(), "lower max_jobs_per_detection")
			assert.LessOrEqual(t, packedBytes(t, p.d), MaxWeight)
			t.Logf("%s: %d bytes of weight %d", kind, packedBytes(t, p.d), p.d.Weight())
		})
	}
}

func TestOutcomesCanTravel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	p := ready()
	budget := &Budget{
		PerKey:  &Rule{Count: contract.MaxKeyFailures, Window: jobtype.Duration(wholeDay), DisableFor: jobtype.Duration(wholeDay)},
		PerType: &Rule{Count: contract.MaxTypeFailures, Window: jobtype.Duration(wholeDay), DisableFor: jobtype.Duration(wholeDay)},
	}
	keys := make([]string, 900)
	for i := range keys {
		keys[i] = noise(r, jobtype.MaxDedupeKeyBytes)
	}
	for i := range 20_000 {
		p.pass(time.Duration(r.IntN(1e9)))
		p.step(Requested{Holder: group("g"), JobType: fmt.Sprint("type-", i%50), Budget: budget, Endings: []Endings{{At: p.now, Failed: []Failure{
			{DedupeKey: keys[r.IntN(len(keys))], Attempt: fmt.Sprint(i), At: p.now, Error: noise(r, 300)},
		}}}})
	}
	assert.LessOrEqual(t, packedBytes(t, p.d), maxKeysWeight+maxTypesWeight)
	tracked, dropped := p.d.Tracked()
	assert.Positive(t, tracked)
	assert.Positive(t, dropped)
}

func TestWeightIsGivenBack(t *testing.T) {
	t.Parallel()
	p := ready()
	for i := range 100 {
		who := fmt.Sprint("g", i%7)
		p.ask(who, Request{ID: fmt.Sprint("k", i), Keys: keyBytes(uint64(i), uint64(i+1))})
		p.ask(who, Request{ID: fmt.Sprint("d", i), Pools: []Amount{{Pool: "db", N: 1 + i%3, Size: 5}}, Priority: i % 4})
		p.ask(who, Request{ID: fmt.Sprint("l", i), Lane: "default", Distinct: true})
	}
	require.Positive(t, p.d.Weight())
	for range 30 {
		for i := range 7 {
			p.release(fmt.Sprint("g", i))
		}
	}
	assert.Zero(t, p.d.Weight())
}
