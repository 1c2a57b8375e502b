package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command/processes"
)

// A node that is short of files does not keep owed hooks waiting until the worker is started again.
func TestAFailedLookAtTheStartIsRepeated(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]int64{"once": 1, "always": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				l, err := openLedger(dir)
				require.NoError(t, err)
				var looks atomic.Int64
				l.table = func() ([]processes.Process, error) {
					if looks.Add(1) <= failing {
						return nil, syscall.EMFILE
					}
					return processes.Table()
				}
				encoded, err := json.Marshal(&note{Mark: "m", Boot: l.boot})
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "m"+noteSuffix), encoded, 0o600))
				defer func() {
					for _, n := range l.notes() {
						n.strike() // It ends the looks of this ledger.
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				stuck, err := l.endLeftovers(ctx)
				require.NoError(t, stuck)
				if failing == 1 {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, syscall.EMFILE)
					assert.Error(t, ctx.Err(), "it waits until the worker is stopped")
				}
			})
		})
	}
}
