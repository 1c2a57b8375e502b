package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/starter"
)

// A registry without an answer is the fault of another check.
func checkSettings(ctx context.Context, c *starter.Client, polling []string) []Check {
	if len(polling) < 2 {
		return nil
	}
	found, err := c.Workers().Thresholds(ctx)
	if err != nil {
		return nil
	}
	return settingsOf(found, polling)
}

func settingsOf(found contract.ThresholdsResult, polling []string) []Check {
	planes := slices.DeleteFunc(slices.Clone(found.Planes), func(p contract.ControlPlane) bool { return !slices.Contains(polling, p.Identity) })
	for i, other := range planes {
		for _, plane := range planes[:i] {
			if differing := differences(plane.Settings, other.Settings); len(differing) > 0 {
				check := Check{
					Name: "settings", Verdict: VerdictWarn,
					Found: fmt.Sprintf("control planes %s and %s differ in %s", plane.Identity, other.Identity, strings.Join(differing, "; ")),
				}
				check.Help(hinted("start all control planes with the same --config: the last start decided the thresholds (a process that has ended is listed "+
					"for a minute more)", do(action.ListAudit, "object", contract.FleetWorkflowID)))
				return []Check{check}
			}
		}
	}
	if len(planes) < 2 {
		return nil
	}
	return []Check{{Name: "settings", Verdict: VerdictOK, Found: fmt.Sprintf("%d control planes have the same", len(planes))}}
}

func differences(one, other map[string]string) []string {
	both := maps.Clone(one)
	maps.Copy(both, other)
	var differing []string
	for _, section := range slices.Sorted(maps.Keys(both)) {
		if a, b := one[section], other[section]; a != b {
			differing = append(differing, fmt.Sprintf("%s (%s against %s)", section, cmp.Or(a, "none"), cmp.Or(b, "none")))
		}
	}
	return differing
}
