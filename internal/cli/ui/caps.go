package ui

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
)

// CheckCaps judges the caps that were given.
func CheckCaps(ctx *cli.Context) error {
	for _, name := range []string{FlagMaxDetect, FlagMaxExecute} {
		if n := ctx.Int(name); ctx.IsSet(name) && (n < 1 || n > contract.MaxWorkerCap) {
			return Usagef("--%s %d: must be between 1 and %d; to run nothing there, cordon the worker", name, n, contract.MaxWorkerCap)
		}
	}
	return nil
}
