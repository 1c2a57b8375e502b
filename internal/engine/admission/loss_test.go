package admission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestFailuresSurviveTheLossOfTheDesk: a holder reports failures and successes and repeats its
// last reports. The core is lost before it applied the last report. Each failure counts once.
func TestFailuresSurviveTheLossOfTheDesk(t *testing.T) {
	t.Parallel()
	const kept = 4
	rapid.Check(t, func(t *rapid.T) {
		p := ready()
		budget := Budget{PerKey: &Rule{Count: contract.MaxKeyFailures, Window: jobtype.Duration(24 * time.Hour), DisableFor: jobtype.Duration(time.Hour)}, PerType: &Rule{Count: contract.MaxTypeFailures, Window: jobtype.Duration(24 * time.Hour), DisableFor: jobtype.Duration(time.Hour)}}
		truth, all := map[string]int{}, 0
		var recent []Endings
		var before []byte // The durable data before the last report.
		say := func(endings []Endings, anew bool) {
			p.step(Requested{Holder: group("g"), JobType: "scrub", Budget: &budget, Endings: endings, Reassert: anew})
		}
		save := func() {
			var err error
			before, err = json.Marshal(p.d.Durable())
			require.NoError(t, err)
		}
		save()
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			p.pass(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			switch act := rapid.IntRange(0, 5).Draw(t, "act"); act {
			case 0, 1, 2, 3:
				e := Endings{At: p.now}
				if act < 3 && truth[key] < contract.MaxKeyFailures-1 {
					truth[key]++
					all++
					e.Failed = []Failure{{DedupeKey: key, Attempt: fmt.Sprint(i), At: p.now}}
				} else {
					truth[key] = 0
					e.Done = keyBytes(hashOf(key))
				}
				recent = append(recent, e)
				recent = recent[max(0, len(recent)-kept):]
				save()
				say([]Endings{e}, false)
			case 4:
				say(recent, false)
			case 5:
				var durable Durable
				require.NoError(t, json.Unmarshal(before, &durable))
				p.d = New(p.now, durable)
				p.step(Expected{IDs: []string{"g"}, Final: true})
				say(recent, true)
				save()
			}
			for key, want := range truth {
				failures, off := p.d.KeyRecord("scrub", key, p.now)
				require.Nil(t, off)
				require.Equal(t, want, failures, "key %s", key)
			}
			known := 0
			if r := p.d.outcomes.Types["scrub"]; r != nil {
				known = len(r.Failures)
			}
			require.Equal(t, all, known, "of the job type every failure counts")
		}
	})
}
