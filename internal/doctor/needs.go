package doctor

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
)

func checkNeeds(ctx context.Context, client *starter.Client) (Check, []explain.Need) {
	needs, err := explainer.NeedsPerson(ctx, client)
	return needsCheck(needs, err), needs
}

func thing(kind, name string) string { return kind + " " + name }

// markListed marks the findings whose things all need a person.
func markListed(checks []Check, needs []explain.Need) {
	listed := map[string]bool{}
	for _, need := range needs {
		listed[thing(need.Kind, need.Name)] = true
	}
	for i, check := range checks {
		if len(check.of) > 0 && !slices.ContainsFunc(check.of, func(of string) bool { return !listed[of] }) {
			checks[i].Listed = true
		}
	}
}

func needsCheck(needs []explain.Need, err error) Check {
	check := Check{Name: "needs a person", Verdict: VerdictOK, Found: "nothing"}
	if len(needs) > 0 {
		named := lists.Map(needs, func(need explain.Need) string { return cmp.Or(need.Of, need.Name) })
		check.Verdict, check.Found, check.Listed = VerdictWarn, strconv.Itoa(len(needs))+" in all: "+firstOf(named), true
		check.Help(hinted("", do(action.ListNeeds)))
	}
	if err != nil {
		check.Verdict, check.Found = VerdictWarn, check.Found+"; unknown: "+why(err)
	}
	return check
}
