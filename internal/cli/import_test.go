package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestACrontabRunsAsItDid imports a crontab, applies the draft unchanged, and starts its job types.
func TestACrontabRunsAsItDid(t *testing.T) {
	t.Parallel()
	h, dir := alone(t), t.TempDir()
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "web-1", "--labels", "role=web", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("web-1", "workers", "-s", "online")

	old := filepath.Join(dir, "crontab")
	require.NoError(t, os.WriteFile(old, []byte("GREETING=\"good morning\"\n"+
		"0 2 * * * cat > "+dir+"/mail && pwd > "+dir+"/home && echo \"$GREETING {{x}} 100\\%\" > "+dir+"/greeting%first%second\n"), 0o600))
	o := h.run("import", "crontab", old, "--label", "role=web", "--timezone", "Europe/Berlin").OK()
	o.Complains("1 job types with 0 remarks; 0 lines")
	h.run("apply", "-c", h.write(o.Stdout)).OK()
	h.run("start", "cat", "--wait").OK()
	for name, want := range map[string]string{"mail": "first\nsecond", "greeting": "good morning {{x}} 100%\n"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), name)
	}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(dir, "home"))
	require.NoError(t, err)
	assert.Equal(t, home+"\n", string(got), "cron starts a program in the home of its user")
}

func TestImportRefusesWhatIsNoCrontab(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("import", "crontab", "/nonexistent").Exits(ui.ExitUsage).Complains("no such file")
	h.run("import", "crontab", t.TempDir()).Exits(ui.ExitUsage).Complains("is a directory")
	h.run("import", "crontab", "-", "--timezone", "Mars/Olympus").Exits(ui.ExitUsage).Complains("no time zone")
	h.run("import", "timers", "/nonexistent").Exits(ui.ExitUsage).Complains("is no directory")
	h.run("import", "timers", t.TempDir()).OK().Complains("0 job types")
}
