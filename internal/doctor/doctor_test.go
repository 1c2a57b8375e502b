package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

func dial(t *testing.T, namespace string) *starter.Client {
	t.Helper()
	c, err := starter.Dial(t.Context(), starter.Options{Address: testsuite.StartServer(t).Address(), Namespace: namespace, HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestDoctorOnAFreshServer(t *testing.T) {
	t.Parallel()
	c := dial(t, "")
	checks := doctor.CheckServer(t.Context(), c)
	require.Len(t, checks, 5)
	for _, check := range checks {
		assert.Equal(t, doctor.VerdictOK, check.Verdict, "%s: %s", check.Name, check.Found)
	}
	assert.Equal(t, "closed runs are kept for 3 days in default", checks[1].Found)
	all := doctor.Doctor(t.Context(), c)
	assert.True(t, doctor.Failed(all), "nobody serves the control queue")
}

func TestDoctorNamesAMissingNamespace(t *testing.T) {
	t.Parallel()
	c := dial(t, "not-there")
	checks := doctor.CheckServer(t.Context(), c)
	assert.True(t, doctor.Failed(checks))
	assert.Contains(t, checks[len(checks)-1].Fix, "temporal operator namespace create --namespace not-there")
}

func TestAReportCountsVerdicts(t *testing.T) {
	t.Parallel()
	checks := []doctor.Check{{Verdict: doctor.VerdictOK}, {Verdict: doctor.VerdictWarn}, {Verdict: doctor.VerdictOK}}
	assert.Equal(t, doctor.Report{OK: true, Passed: 2, Warnings: 1, Checks: checks}, doctor.ReportOf(checks))
	checks = append(checks, doctor.Check{Verdict: doctor.VerdictFail})
	assert.Equal(t, doctor.Report{Passed: 2, Warnings: 1, Checks: checks}, doctor.ReportOf(checks))
}
