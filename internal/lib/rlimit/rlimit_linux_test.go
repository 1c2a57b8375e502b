package rlimit_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
	"github.com/roundsman/roundsman/jobtype"
)

// A worker without the permission cannot raise a hard limit. It may lower one.
func TestAllowed(t *testing.T) {
	t.Parallel()
	var own syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own))
	if own.Max < 16 || own.Max >= 1<<30 {
		t.Skip("this process has no usual limit of open files")
	}
	below, above := rlimit.Limits{OpenFiles: int(own.Max)}, rlimit.Limits{OpenFiles: int(own.Max) + 1}
	require.NoError(t, rlimit.Allowed(below, 1000, false))
	require.ErrorContains(t, rlimit.Allowed(above, 1000, false), "NOT_ALLOWED: limits.open_files: ")
	require.NoError(t, rlimit.Allowed(above, 1000, true))
	require.NoError(t, rlimit.Allowed(rlimit.Limits{}, 0, false))
	require.ErrorContains(t, rlimit.Allowed(rlimit.Limits{PIDs: 5}, 0, true), "NOT_ALLOWED: limits.pids: without a cgroup")
	require.ErrorContains(t, rlimit.Allowed(rlimit.Limits{CPU: rlimit.CPU{Cores: 1}}, 1000, true), "NOT_ALLOWED: limits.cpu: ")
	require.NoError(t, rlimit.Allowed(rlimit.Limits{CPU: rlimit.CPU{Time: jobtype.Duration(time.Minute)}}, 1000, true))
}
