package devserver_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/devserver"
)

func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	_, r := start(t, "--headless")
	id := startWaiting(t, dial(t, r))
	_, other := start(t, "--headless")
	_, err := dial(t, other).DescribeWorkflowExecution(t.Context(), id, "")
	assert.ErrorContains(t, err, "not found")
}

// The state of a killed server is complete: a workflow that was waiting continues.
func TestFileSurvivesKill(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "state.db")
	readyFile := filepath.Join(filepath.Dir(db), "ready.json")
	requireSurvivesKill(t, devserver.StoreSQLite, "--headless", "--db-filename", db, "--ready-file", readyFile)
}

// requireSurvivesKill runs a server three times with these arguments: killed,
// killed again, then stopped.
func requireSurvivesKill(t *testing.T, store string, args ...string) {
	t.Helper()
	p, r := start(t, args...)
	assert.Equal(t, store, r.Store)
	id := startWaiting(t, dial(t, r))
	p.kill()

	p, r = start(t, args...)
	requireRunning(t, dial(t, r), id)
	require.NoError(t, dial(t, r).SignalWorkflow(t.Context(), id, "", "go", "on"))
	p.kill()

	p, r = start(t, args...)
	c := dial(t, r)
	requireRunning(t, c, id)
	w := worker.New(c, waitingQueue, worker.Options{})
	w.RegisterWorkflow(waitForSignal)
	require.NoError(t, w.Start())
	var got string
	require.NoError(t, c.GetWorkflow(t.Context(), id, "").Get(t.Context(), &got))
	assert.Equal(t, "on", got, "the signal of before the second kill")
	w.Stop()
	p.stop()
}

// TestStateIsTheOwnersAlone: the database and its companions are not for other users.
func TestStateIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, _ := start(t, "--headless", "--db-filename", filepath.Join(dir, "state.db"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o077, "%s %s", entry.Name(), info.Mode())
	}
	p.stop()
}

func TestCleanStopLeavesOneFile(t *testing.T) {
	t.Parallel()
	// A name with the special characters of a file: URI.
	dir := filepath.Join(t.TempDir(), "50% #1?")
	require.NoError(t, os.Mkdir(dir, 0o700))
	p, r := start(t, "--headless", "--db-filename", filepath.Join(dir, "state.db"))
	id := startWaiting(t, dial(t, r))
	p.stop()
	wal, err := os.Stat(filepath.Join(dir, "state.db-wal"))
	if err == nil {
		assert.Zero(t, wal.Size())
	}

	moved := filepath.Join(t.TempDir(), "moved.db")
	require.NoError(t, os.Rename(filepath.Join(dir, "state.db"), moved))
	_, r = start(t, "--headless", "--db-filename", moved)
	requireRunning(t, dial(t, r), id)
	requireSearchAttributes(t, dial(t, r))
}

func TestAddsSearchAttributesToOldNamespace(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "state.db")
	p, r := start(t, "--headless", "--db-filename", db)
	_, err := dial(t, r).WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: "older", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	p.stop()

	_, r = start(t, "--headless", "--db-filename", db, "--namespace", "older")
	requireSearchAttributes(t, dial(t, r))
}

// A namespace that cannot serve us is reported at once, not after a long wait.
func TestNamespaceWithOtherSearchAttributes(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "state.db")
	p, r := start(t, "--headless", "--db-filename", db)
	c := dial(t, r)
	keywords := map[string]enumspb.IndexedValueType{}
	for i := range 9 {
		keywords[fmt.Sprintf("Taken%d", i)] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	for namespace, attributes := range map[string]map[string]enumspb.IndexedValueType{
		"typed": {devserver.SearchAttributeJobType: enumspb.INDEXED_VALUE_TYPE_INT},
		"full":  keywords,
	} {
		_, err := c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		require.NoError(t, err)
		require.EventuallyWithT(t, func(tick *assert.CollectT) {
			_, err := c.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
				Namespace: namespace, SearchAttributes: attributes,
			})
			assert.NoError(tick, err)
		}, patience, 200*time.Millisecond)
	}
	p.stop()

	for namespace, want := range map[string]string{
		"typed": "RoundsmanJobType of namespace typed is of type Int and must be Keyword: use another --namespace",
		"full":  "namespace full has no room for search attributes",
	} {
		message := launch(t, "--port", "0", "--headless", "--db-filename", db, "--namespace", namespace).fails(1)
		assert.Contains(t, message, want)
	}
}

func TestSecondServerOnOneFile(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "state.db")
	first, _ := start(t, "--headless", "--db-filename", db)

	message := launch(t, "--port", "0", "--headless", "--db-filename", db).fails(1)
	assert.Contains(t, message, "is already in use by process ")
	assert.Contains(t, message, "choose another --db-filename")

	second := launch(t, "--port", "0", "--headless", "--db-filename", db)
	first.kill()
	second.ready() // It waited for the lock.
	second.stop()
}

// A file that is not ours is refused, and not a byte of it changes.
func TestRefusesForeignFile(t *testing.T) {
	t.Parallel()
	original := filepath.Join(t.TempDir(), "state.db")
	p, _ := start(t, "--headless", "--db-filename", original)
	p.stop()

	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"text": {func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("not a database\n", 500)), 0o600))
		}, "file is not a database"},
		"other application": {func(t *testing.T, path string) {
			t.Helper()
			execSQLite(t, path, "CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('x')")
		}, "was not made by this server"},
		"truncated": {func(t *testing.T, path string) {
			t.Helper()
			copyFile(t, original, path)
			require.NoError(t, os.Truncate(path, 40_000))
		}, "cannot be used"},
		"overwritten": {func(t *testing.T, path string) {
			t.Helper()
			copyFile(t, original, path)
			overwrite(t, path)
		}, "cannot be used"},
		"other schema": {func(t *testing.T, path string) {
			t.Helper()
			copyFile(t, original, path)
			execSQLite(t, path, "ALTER TABLE executions ADD COLUMN later INT; DROP TABLE nexus_endpoints")
		}, "cannot be upgraded in place"},
		"directory": {func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Mkdir(path, 0o700))
		}, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "foreign.db")
			c.make(t, path)
			before := digest(t, path)
			message := launch(t, "--port", "0", "--headless", "--db-filename", path).fails(1)
			assert.Contains(t, message, c.want)
			assert.Contains(t, message, path)
			assert.Contains(t, message, "choose another --db-filename", "says what to do")
			assert.Equal(t, before, digest(t, path))
		})
	}
}

func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "no", "state.db")
	assert.Contains(t, launch(t, "--port", "0", "--headless", "--db-filename", path).fails(1), "create the directory first")
}

const waitingQueue = "waiting"

// startWaiting starts a workflow that waits for its signal; no worker runs it.
func startWaiting(t *testing.T, c client.Client) string {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: waitingQueue}, waitForSignal)
	require.NoError(t, err)
	return run.GetID()
}

func waitForSignal(ctx workflow.Context) (got string, err error) {
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, &got)
	return got, nil
}

func requireRunning(t *testing.T, c client.Client, id string) {
	t.Helper()
	resp, err := c.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, resp.GetWorkflowExecutionInfo().GetStatus())
}

func execSQLite(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// overwrite spoils pages in the middle of a file.
func overwrite(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", 200_000)), 100_000)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

// digest is that of a file's content; a directory has the empty one.
func digest(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if info.IsDir() {
		return [sha256.Size]byte{}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return sha256.Sum256(text)
}
