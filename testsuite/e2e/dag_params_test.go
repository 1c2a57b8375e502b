package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestDAGParamsReachTheSubDAG: a rolling restart restarts each service once, not the first one three times.
func TestDAGParamsReachTheSubDAG(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	done := filepath.Join(t.TempDir(), "done")
	files := mapFiles{"restart.yaml": `version: 1
name: restart
params: {service: web, file: none, ports: [80]}
tasks:
  - {id: stop, for_each: "{{.Params.ports}}", command: [sh, -c, 'echo "$1 $2" >> "$3"', sh, "{{.Params.service}}", "{{.Item}}", "{{.Params.file}}"]}
`}
	top := `version: 1
name: restart-all
params: {services: [web, db, mail], ports: [1, 2], file: ` + done + `}
tasks:
  - id: restart
    for_each: "{{.Params.services}}"
    dag: restart.yaml
    params: {service: "{{.Item}}", file: "{{.Params.file}}", ports: "{{json .Params.ports}}"}
`
	result := awaitDAG(t, p.client, runDAG(t, p.client, compileDAG(t, top, files), starter.DAGOptions{}), 30*time.Second)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	text, err := os.ReadFile(done)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"web 1", "web 2", "db 1", "db 2", "mail 1", "mail 2"}, strings.Split(strings.TrimSpace(string(text)), "\n"))
}
