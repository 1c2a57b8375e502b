package runs

import (
	"fmt"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

// PaceText compares a run with the usual duration; empty without a comparison.
func PaceText(p *contract.Pace) string {
	if p == nil {
		return ""
	}
	known := ui.Plural(p.Usual.Of, "completed run")
	if p.Verdict == contract.PaceUnknown {
		return fmt.Sprintf("unknown: %s to compare with, too few", known)
	}
	text := string(p.Verdict)
	if p.Verdict != contract.PaceUsual {
		text += " than usual"
	}
	if p.Open {
		text += " so far"
	}
	return text + fmt.Sprintf(": %s, usually %s ± %s (%s); %s, usually %d",
		ui.Span(p.Took.Std()), ui.Span(p.Usual.Took.Std()), ui.Span(p.Usual.Spread.Std()), known, ui.Plural(p.Jobs, "job"), p.Usual.Jobs)
}

// PaceCell is the same in a column.
func PaceCell(p *contract.Pace) ui.Cell {
	switch {
	case p == nil || p.Verdict == contract.PaceUnknown:
		return ui.Cell{Text: "-", Paint: ui.Faint}
	case p.Verdict == contract.PaceUsual:
		return ui.Text(string(p.Verdict))
	}
	cell := ui.Textf("%s, usually %s", p.Verdict, ui.Span(p.Usual.Took.Std()))
	if p.Verdict == contract.PaceSlower {
		cell.Paint = ui.Odd
	}
	return cell
}
