package calendar

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter/calendar"
)

const defaultLimit = 50

type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{c.schedule()}
}

func objectOf(tick calendar.ForecastTick) string {
	if len(tick.If) == 0 {
		return tick.Object
	}
	texts := make([]string, len(tick.If))
	for i, condition := range tick.If {
		texts[i] = condition.Text
	}
	return strings.Join(texts, "; ")
}

func runsOf(ticks []calendar.LedgerTick) (runs []string) {
	for _, tick := range ticks {
		if tick.State == contract.TickRan {
			runs = append(runs, tick.Run)
		}
	}
	return runs
}

func statePaint(state contract.TickState) ui.Cell {
	paints := map[contract.TickState]ui.Paint{contract.TickRan: ui.Good, contract.TickSkipped: ui.Odd, contract.TickMissed: ui.Bad, contract.TickWaiting: ui.Odd}
	return ui.Cell{Text: string(state), Paint: paints[state]}
}

func (c *commands) noteCut(found calendar.Ledger) {
	if found.Incomplete {
		c.Complain("note: there are more runs than are read: the ledger begins %s; name one job type to see more", stamp(found.From))
	}
}

func (c *commands) more(all, limit int) {
	if limit > 0 && all > limit {
		c.Complain("note: %d of %d are shown, --limit 0 shows all", limit, all)
	}
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("Mon 01-02 15:04 MST")
}

func keep[T any](list []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(list, func(one T) bool { return !wanted(one) })
}

func first[T any](list []T, limit int) []T {
	return list[:min(len(list), cmp.Or(limit, len(list)))]
}
