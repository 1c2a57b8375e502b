package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Items and params that break out of a script if they are inserted as text reach the programs whole, and
// nothing of them is executed.
func TestScriptsWithHostileValues(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	pwned, out := filepath.Join(s.Dir, "pwned"), filepath.Join(s.Dir, "out")
	hostile := fmt.Sprintf("x'; touch %[1]s; \"$(touch %[1]s)\" `touch %[1]s`\n; touch %[1]s #", pwned)
	s.Apply(fmt.Sprintf(`version: 1
defaults: {env: {OUT: %q}}
job_types:
  script:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    params: {text: %q}
    detect:
      shell: |
        printf '%%s\n' "one '; touch %[3]s; '" 'two $(touch %[3]s)' | cat
    execute:
      shell: |
        [[ $(cat) == *'"item":'* ]]
        printf '<%%s><%%s>' {{.Params.item}} "{{.Params.text}}" | cat >> "$OUT"
`, out, hostile, pwned))
	result := s.Result(s.Begin("script"))
	assert.Equal(t, 2, result.Counts.Completed, "%+v", result)
	written, err := os.ReadFile(out)
	require.NoError(t, err)
	one, two := fmt.Sprintf("<one '; touch %s; '><%s>", pwned, hostile), fmt.Sprintf("<two $(touch %s)><%s>", pwned, hostile)
	assert.Contains(t, []string{one + two, two + one}, string(written))

	spec := filepath.Join(s.Dir, "script.yaml")
	require.NoError(t, os.WriteFile(spec, fmt.Appendf(nil, `version: 1
name: script
params: {text: ""}
defaults: {env: {OUT: %q}}
tasks:
  - id: a
    for_each: ["x; touch %[2]s"]
    shell: |
      printf '<%%s><%%s>' {{.Item}} "{{.Params.text}}" | cat > "$OUT"
  - {id: b, needs: [a], shell: "false | true"}
`, out, pwned), 0o600))
	waited := s.Start("start", spec, "--param", "text="+hostile, "--watch")
	assert.Equal(t, 1, waited.Code(t, time.Minute), "b fails by pipefail: %s%s", waited.Stdout.Last(), waited.Stderr.Last())
	written, err = os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("<x; touch %s><%s>", pwned, hostile), string(written))
	require.NoFileExists(t, pwned)
}
