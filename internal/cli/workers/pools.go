package workers

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func poolUse(pool contract.AdmissionPool) ui.Cell {
	use := ui.Textf("%d of %d", pool.Used, pool.Size)
	if pool.Operator > 0 {
		use.Text, use.Paint = use.Text+" (resized)", ui.Odd
	}
	return use
}

func usedBy(holders []contract.AdmissionUse) string {
	var names []string
	for _, use := range holders {
		names = append(names, strings.TrimSuffix(use.WorkflowID+"/"+use.For, "/")) // A lane is held by a run.
	}
	return strings.Join(names, ", ")
}

// ResizePool gives a pool another size, until it is resized again. settings is size=N; size= restores the declared size.
// A job that waits for more than the new size fails with the reason.
func ResizePool(p *ui.Program, ctx *cli.Context, client *starter.Client, pool string, settings []string) error {
	written, ok := strings.CutPrefix(settings[0], "size=")
	size, err := strconv.Atoi("0" + written)
	if !ok || len(settings) > 1 || err != nil {
		return ui.Usagef("%s: a pool has size=N; size= goes back to the declared size", strings.Join(settings, " "))
	}
	after, err := client.Admission().ResizePool(ctx.Context, pool, size, p.Operator())
	if err != nil {
		return err
	}
	if after.Declared == 0 && after.Operator == 0 {
		return p.Done(ctx, after, "pool %s goes back to its declared size; no job holds or waits for it now", pool)
	}
	return p.Done(ctx, after, "pool %s has size %d, %d in use", pool, after.Size, after.Used)
}
