package runs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
)

func TestPaceText(t *testing.T) {
	t.Parallel()
	minutes := func(m int) jobtype.Duration { return jobtype.Duration(m) * jobtype.Duration(time.Minute) }
	usual := contract.Usual{Of: 9, Took: minutes(40), Spread: minutes(2), Jobs: 100}
	open := &contract.Pace{Verdict: contract.PaceSlower, Took: minutes(130), Jobs: 1000, Open: true, Usual: usual}
	assert.Equal(t, "slower than usual so far: 2h10m, usually 40m ± 2m (9 completed runs); 1000 jobs, usually 100", PaceText(open))
	assert.Equal(t, ui.Cell{Text: "slower, usually 40m", Paint: ui.Odd}, PaceCell(open))

	ended := &contract.Pace{Verdict: contract.PaceUsual, Took: minutes(41), Jobs: 100, Usual: usual}
	assert.Equal(t, "usual: 41m, usually 40m ± 2m (9 completed runs); 100 jobs, usually 100", PaceText(ended))
	assert.Equal(t, "usual", PaceCell(ended).Text)

	first := &contract.Pace{Verdict: contract.PaceUnknown, Took: minutes(1), Usual: contract.Usual{Of: 1}}
	assert.Equal(t, "unknown: 1 completed run to compare with, too few", PaceText(first))
	assert.Equal(t, "-", PaceCell(first).Text)
	assert.Empty(t, PaceText(nil))
	assert.Equal(t, "-", PaceCell(nil).Text)
}
