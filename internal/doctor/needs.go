package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
)

func checkNeeds(ctx context.Context, client *starter.Client) Check {
	needs, err := explainer.NeedsPerson(ctx, client)
	return needsCheck(needs, err)
}

func needsCheck(needs []explain.Need, err error) Check {
	check := Check{Name: "needs a person", Verdict: VerdictOK, Found: "nothing"}
	if len(needs) > 0 {
		var named []string
		for _, need := range needs[:min(len(needs), maxNamed)] {
			named = append(named, fmt.Sprintf("%s (%s)", cmp.Or(need.Of, need.Name), need.Code))
		}
		if more := len(needs) - maxNamed; more > 0 {
			named = append(named, fmt.Sprintf("%d more", more))
		}
		check.Verdict, check.Found = VerdictWarn, "there are "+strconv.Itoa(len(needs))+": "+strings.Join(named, ", ")
		check.help(hinted("", do(action.ListNeeds)))
	}
	if err != nil {
		check.Verdict, check.Found = VerdictWarn, check.Found+"; unknown: "+err.Error()
	}
	return check
}
