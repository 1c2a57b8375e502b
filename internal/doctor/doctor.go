// Package doctor checks the server, the namespace, the control plane with its workers, and the job types.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// maxHolds is above the number that admission keeps.
const maxHolds = 10_000

// Examine makes all checks. It checks job types only if a control plane answers.
func Examine(ctx context.Context, client *starter.Client) []Check {
	checks := Doctor(ctx, client)
	if last := checks[len(checks)-1].Name; last != "clocks" {
		return checks // Without a control plane the rest cannot be checked.
	}
	var asking sync.WaitGroup
	var types, holds, receivers, waiting Check
	var needs []explain.Need
	asking.Go(func() { types = checkServed(ctx, client) })
	asking.Go(func() { holds = checkHolds(ctx, client) })
	asking.Go(func() { receivers = checkReceivers(ctx, client, time.Now()) })
	asking.Go(func() { waiting, needs = checkNeeds(ctx, client) })
	asking.Wait() // Checks without an answer report that.
	checks = append(checks, types, holds, receivers, waiting)
	markListed(checks, needs)
	return checks
}

const maxNamed = 5

func checkServed(ctx context.Context, client *starter.Client) Check {
	types, err := jobtypes.Of(client).List(ctx)
	if err == nil {
		err = jobtypes.Of(client).AddServed(ctx, types)
	}
	if err != nil {
		check := Check{Name: "job types"}
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	}
	var missing []jobtypes.JobType
	for _, known := range types {
		if known.Missing != "" && !known.DisabledByConfig && !known.Paused {
			missing = append(missing, known)
		}
	}
	if len(missing) == 0 {
		return Check{Name: "job types", Verdict: VerdictOK, Found: fmt.Sprintf("%d applied, a worker can serve each that is due", len(types))}
	}
	names := lists.Map(missing, func(known jobtypes.JobType) string { return known.Name })
	check := Check{Name: "job types", Verdict: VerdictWarn, Code: contract.CodeNoWorker, Found: missing[0].Lack() + " (" + names[0] + ")"}
	check.of = lists.Map(names, func(name string) string { return thing(explainer.KindJobType, name) })
	check.Help(hinted("", do(action.Explain, "thing", names[0])))
	if len(names) > 1 {
		check.Found += ", and no worker for " + firstOf(names[1:])
	}
	return check
}

func checkHolds(ctx context.Context, client *starter.Client) Check {
	check := Check{Name: "retry budgets", Verdict: VerdictOK, Found: "failures hold nothing back"}
	held, err := client.Admission().Holds(ctx, contract.HoldsInput{Limit: maxHolds})
	if err != nil {
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	}
	var types []string
	keys := map[string]int{}
	for _, hold := range held.Holds {
		if hold.Code == contract.HoldMarkedDone {
			continue
		}
		if _, known := keys[hold.JobType]; !known {
			types = append(types, hold.JobType)
		}
		if hold.DedupeKey == "" {
			keys[hold.JobType] = -1 // The list has job types before keys.
		} else if keys[hold.JobType] >= 0 {
			keys[hold.JobType]++
		}
	}
	if len(types) == 0 {
		return check
	}
	texts := make([]string, len(types))
	for i, name := range types {
		check.of = append(check.of, thing(explainer.KindJobType, name))
		if texts[i] = fmt.Sprintf("%s (keys: %d)", name, keys[name]); keys[name] < 0 {
			texts[i] = name + " (all of it)"
		}
	}
	check.Verdict = VerdictWarn
	check.Code, check.Found = contract.CodeRetryBudget, "failures hold back "+firstOf(texts)
	check.Help(hinted("repair the cause of the failures", do(action.ReEnableJobType, "name", types[0]), do(action.ListHeld)))
	return check
}

func firstOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
