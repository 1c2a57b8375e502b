package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// lossShown is how long a lost queue of the notifier is reported.
const lossShown = 24 * time.Hour

func checkReceivers(ctx context.Context, client *starter.Client, now time.Time) Check {
	check := Check{Name: "notifications", Verdict: VerdictOK}
	view, err := client.Notifications().View(ctx)
	if err != nil && !errors.Is(err, starter.ErrNotFound) {
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	}
	types, err := jobtypes.Of(client).List(ctx)
	if err != nil {
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	}
	check = judgeReceivers(view, types)
	if check.Verdict != VerdictOK || view.Inherited == nil || view.Inherited.Fault == "" {
		return check
	}
	log, err := client.Audit().Read(ctx, contract.AuditFilter{Object: contract.NotificationsWorkflowID, Since: now.Add(-lossShown)})
	if err != nil {
		check.unknown(VerdictWarn, "whether notifications were lost is unknown: ", err)
		return check
	}
	return judgeLoss(check, log.Entries, view.Inherited.Fault)
}

func judgeLoss(check Check, entries []contract.AuditEntry, fault string) Check {
	for _, e := range slices.Backward(entries) {
		if e.Object != contract.NotificationsWorkflowID || e.Action != e.Object+contract.AuditTerminated && e.Action != e.Object+contract.AuditEnded {
			continue
		}
		lost := Check{
			Name: check.Name, Verdict: VerdictWarn, Code: "NOTIFIER_ENDED",
			Found: fmt.Sprintf("ended at %s by %s: what waited is lost: %s", e.At.UTC().Format(time.RFC3339), cmp.Or(e.Actor, "a bug"), fault),
		}
		lost.Help(hinted("look yourself which runs failed since", do(action.ListAudit, "object", contract.NotificationsWorkflowID)))
		return lost
	}
	return check
}

func judgeReceivers(view contract.NotificationsView, types []jobtypes.JobType) Check {
	check := Check{Name: "notifications", Verdict: VerdictWarn}
	var known, failing, failingNames, unknown []string
	for _, r := range view.Receivers {
		if r.Kind != "" {
			known = append(known, r.Name)
		}
		if !r.FailingSince.IsZero() {
			failingNames = append(failingNames, r.Name)
			check.of = append(check.of, thing(explainer.KindReceiver, r.Name))
			failing = append(failing, fmt.Sprintf("%s (%d waiting, since %s: %s)", r.Name, r.Waiting, r.FailingSince.UTC().Format(time.RFC3339), r.Error))
		}
	}
	for _, t := range types {
		for _, rule := range t.Spec.Notify {
			for _, name := range rule.To {
				if text := name + " (of job type " + t.Name + ")"; !slices.Contains(known, name) && !slices.Contains(unknown, text) {
					unknown = append(unknown, text)
				}
			}
		}
	}
	switch {
	case len(failing) > 0:
		check.Code, check.Found = contract.CodeReceiverFailing, "not delivered to "+firstOf(failing)
		check.Help(hinted("repair the receiver", do(action.TestReceiver, "name", failingNames[0]), do(action.ListReceivers)))
	case len(unknown) > 0:
		check.Code, check.Found = contract.CodeNoReceiver, "no control plane has "+firstOf(unknown)
		check.Help(hinted("write them into `notify.receivers` of the configuration of the control plane", do(action.StartServer)))
	case len(known) == 0:
		return Check{Name: check.Name, Verdict: VerdictOK, Found: "no receiver gets failures: see docs/notifications.md"}
	default:
		return Check{Name: check.Name, Verdict: VerdictOK, Found: "receivers: " + firstOf(known)}
	}
	return check
}
