package devserver_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/driver"
	schematool "go.temporal.io/server/tools/common/schema"
	sqltool "go.temporal.io/server/tools/sql"

	"github.com/roundsman/roundsman/devserver"
)

const (
	executionsVersion = "SELECT curr_version FROM schema_version"
	currentExecutions = "1.19"
	currentVisibility = "1.14"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for name, test := range map[string]func(*testing.T, *cluster){
		"survives kill":        postgresSurvivesKill,
		"second server":        postgresSecondServer,
		"place taken":          postgresPlaceTaken,
		"ordinary user":        postgresOrdinaryUser,
		"may not create":       postgresMayNotCreate,
		"wrong password":       postgresWrongPassword,
		"foreign tables":       postgresForeignTables,
		"running cluster":      postgresRunningCluster,
		"upgrade":              postgresUpgrade,
		"interrupted setup":    postgresInterruptedSetup,
		"killed in setup":      postgresKilledInSetup,
		"renamed":              postgresRenamed,
		"version unreadable":   postgresVersionUnreadable,
		"default database":     postgresDefaultDatabase,
		"key=value connection": postgresKeyValue,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

func postgresSurvivesKill(t *testing.T, c *cluster) {
	t.Helper()
	requireSurvivesKill(t, devserver.StorePostgres, "--headless", "--postgres", c.admin("kill"))
	_, r := start(t, "--headless", "--postgres", c.admin("kill"))
	requireSearchAttributes(t, dial(t, r))
	assert.Equal(t, currentExecutions, one[string](t, c.connect(t, "kill"), executionsVersion))
	assert.Equal(t, currentVisibility, one[string](t, c.connect(t, "kill_visibility"), executionsVersion))
}

func postgresSecondServer(t *testing.T, c *cluster) {
	t.Helper()
	first, r := start(t, "--headless", "--postgres", c.admin("second"))
	message := launch(t, "--port", "0", "--headless", "--postgres", c.admin("second")).fails(1)
	assert.Contains(t, message, "is already in use by roundsman-devserver "+strconv.Itoa(r.PID)+"@")
	assert.NotContains(t, message, password)

	waiting := launch(t, "--port", "0", "--headless", "--postgres", c.admin("second"))
	first.kill()
	waiting.ready()
	waiting.stop()
}

// A server whose session is cut while another one waits for its place gives way.
func postgresPlaceTaken(t *testing.T, c *cluster) {
	t.Helper()
	p, _ := start(t, "--headless", "--postgres", c.admin("taken"))
	locks, rival := c.connect(t, "taken"), c.connect(t, "taken")
	locked := make(chan error, 1)
	go func() {
		_, err := rival.Exec(t.Context(), "SELECT pg_advisory_lock($1)", devserver.GuardKey)
		locked <- err
	}()
	const waiting = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	require.Eventually(t, func() bool { return one[int](t, locks, waiting) == 1 }, patience, 20*time.Millisecond)
	const cut = `SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	require.Equal(t, 1, one[int](t, locks, cut))
	require.NoError(t, <-locked)
	assert.Contains(t, p.fails(1), "is already in use by ")
}

// Everything works without being superuser, once the databases exist.
func postgresOrdinaryUser(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE ROLE ordinary LOGIN PASSWORD 'x'",
		"CREATE DATABASE theirs OWNER ordinary", "CREATE DATABASE theirs_visibility OWNER ordinary")
	p, r := start(t, "--headless", "--postgres", c.dsn("ordinary", "x", "theirs"))
	requireSearchAttributes(t, dial(t, r))
	p.stop()
}

func postgresMayNotCreate(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE ROLE limited LOGIN PASSWORD 'hidden'")
	message := launch(t, "--port", "0", "--headless", "--postgres", c.dsn("limited", "hidden", "nothere")).fails(1)
	assert.Contains(t, message, "permission denied")
	assert.Contains(t, message, `CREATE DATABASE "nothere" OWNER "limited"`)
	assert.NotContains(t, message, "hidden")
}

func postgresWrongPassword(t *testing.T, c *cluster) {
	t.Helper()
	message := launch(t, "--port", "0", "--headless", "--postgres", c.dsn("admin", "wrongsecret", "any")).fails(1)
	assert.Contains(t, message, "postgres://admin@127.0.0.1:"+strconv.Itoa(c.port)+"/any")
	assert.Contains(t, message, "check that it runs, and host, port, user and password")
	assert.NotContains(t, message, "wrongsecret")
}

func postgresForeignTables(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE DATABASE shop")
	c.exec(t, "shop", "CREATE TABLE customers (name TEXT)")
	message := launch(t, "--port", "0", "--headless", "--postgres", c.admin("shop")).fails(1)
	assert.Contains(t, message, "tables of another application (customers)")
	assert.Equal(t, 1, one[int](t, c.connect(t, "shop"),
		"SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"))
}

func postgresRunningCluster(t *testing.T, c *cluster) {
	t.Helper()
	p, _ := start(t, "--headless", "--postgres", c.admin("live"))
	p.stop()
	c.exec(t, "live", `INSERT INTO cluster_membership
		(membership_partition, host_id, rpc_address, rpc_port, role, session_start, last_heartbeat, record_expiry)
		VALUES (0, '\x01', '10.0.0.7', 7233, 1, now(), now() AT TIME ZONE 'utc', now())`)
	message := launch(t, "--port", "0", "--headless", "--postgres", c.admin("live")).fails(1)
	assert.Contains(t, message, "belongs to a running Temporal cluster (10.0.0.7:7233)")

	c.exec(t, "live", "UPDATE cluster_membership SET last_heartbeat = last_heartbeat - interval '1 hour'")
	p, _ = start(t, "--headless", "--postgres", c.admin("live"))
	p.stop()
}

// A database of an older server is brought up to date and keeps its state.
func postgresUpgrade(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE DATABASE aged", "CREATE DATABASE aged_visibility")
	setUpSchema(t, c, "aged", "postgresql/v12/temporal", "1.17")
	setUpSchema(t, c, "aged_visibility", "postgresql/v12/visibility", "1.9")
	p, r := start(t, "--headless", "--postgres", c.admin("aged"))
	requireSearchAttributes(t, dial(t, r))
	p.stop()
	assert.Equal(t, currentExecutions, one[string](t, c.connect(t, "aged"), executionsVersion))
	assert.Equal(t, currentVisibility, one[string](t, c.connect(t, "aged_visibility"), executionsVersion))
}

// A first start that was killed while it set up the schema is continued.
func postgresInterruptedSetup(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE DATABASE halfway")
	setUpSchema(t, c, "halfway", "postgresql/v12/temporal", "1.10")
	// The first of the two tables of step 1.11: begun, but not recorded.
	c.exec(t, "halfway", `CREATE TABLE queues (
		queue_type INT NOT NULL, queue_name VARCHAR(255) NOT NULL,
		metadata_payload BYTEA NOT NULL, metadata_encoding VARCHAR(16) NOT NULL,
		PRIMARY KEY (queue_type, queue_name))`)
	// All of step 1.1: its indexes are dropped, but that is not recorded.
	c.exec(t, "postgres", "CREATE DATABASE halfway_visibility")
	setUpSchema(t, c, "halfway_visibility", "postgresql/v12/visibility", "1.1")
	c.exec(t, "halfway_visibility", "UPDATE schema_version SET curr_version = '1.0'")
	p, _ := start(t, "--headless", "--postgres", c.admin("halfway"))
	p.stop()
	assert.Equal(t, currentExecutions, one[string](t, c.connect(t, "halfway"), executionsVersion))
	assert.Equal(t, currentVisibility, one[string](t, c.connect(t, "halfway_visibility"), executionsVersion))

	// All of step 1.0, with its row of namespace_metadata.
	c.exec(t, "postgres", "CREATE DATABASE begun")
	setUpSchema(t, c, "begun", "postgresql/v12/temporal", "1.0")
	c.exec(t, "begun", "UPDATE schema_version SET curr_version = '0.0'")
	p, _ = start(t, "--headless", "--postgres", c.admin("begun"))
	p.stop()
	assert.Equal(t, currentExecutions, one[string](t, c.connect(t, "begun"), executionsVersion))
}

// gateKey is the key of the advisory lock at which a setup is held.
const gateKey = 4242

// postgresKilledInSetup kills the server with SIGKILL at the n-th statement of its
// setup, in either database. Nothing half-made stays, and the next start works.
func postgresKilledInSetup(t *testing.T, c *cluster) {
	t.Helper()
	for _, kill := range []struct {
		suffix string
		n      int
	}{{"", 1}, {"", 2}, {"", 3}, {"", 20}, {"", 45}, {"_visibility", 1}, {"_visibility", 4}, {"_visibility", 30}, {"_visibility", 80}} {
		name := fmt.Sprintf("killed%d%s", kill.n, strings.ReplaceAll(kill.suffix, "_", ""))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, database := range []string{name, name + "_visibility"} {
				c.exec(t, "postgres", "CREATE DATABASE "+database)
			}
			database := name + kill.suffix
			gate := c.connect(t, database)
			for _, statement := range []string{
				"CREATE SCHEMA gate", "CREATE SEQUENCE gate.n",
				fmt.Sprintf(`CREATE FUNCTION gate.hold() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
					IF nextval('gate.n') = %d THEN PERFORM pg_advisory_xact_lock_shared(%d); END IF; END $$`, kill.n, gateKey),
				"CREATE EVENT TRIGGER hold ON ddl_command_start EXECUTE FUNCTION gate.hold()",
				fmt.Sprintf("SELECT pg_advisory_lock(%d)", gateKey),
			} {
				_, err := gate.Exec(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			p := launch(t, "--port", "0", "--headless", "--postgres", c.admin(name))
			const held = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
			require.Eventually(t, func() bool { return one[int](t, gate, held) == 1 }, patience, 20*time.Millisecond)
			p.kill()
			c.exec(t, database, "DROP EVENT TRIGGER hold")
			require.NoError(t, gate.Close(t.Context())) // Its session gives way to the statement that was held.

			p, _ = start(t, "--headless", "--postgres", c.admin(name))
			p.stop()
			assert.Equal(t, currentExecutions, one[string](t, c.connect(t, name), executionsVersion))
			assert.Equal(t, currentVisibility, one[string](t, c.connect(t, name+"_visibility"), executionsVersion))
		})
	}
}

// A restored copy is distinguished from another application's database.
func postgresRenamed(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE DATABASE original")
	setUpSchema(t, c, "original", "postgresql/v12/temporal", currentExecutions)
	c.exec(t, "postgres", "CREATE DATABASE copied TEMPLATE original")
	message := launch(t, "--port", "0", "--headless", "--postgres", c.admin("copied")).fails(1)
	assert.Contains(t, message, "it was set up under the name original and was left as it is")
}

// A database that cannot be read now is not taken for another application's.
func postgresVersionUnreadable(t *testing.T, c *cluster) {
	t.Helper()
	c.exec(t, "postgres", "CREATE ROLE reader LOGIN PASSWORD 'x'",
		"CREATE DATABASE unreadable", "CREATE DATABASE unreadable_visibility OWNER reader")
	setUpSchema(t, c, "unreadable", "postgresql/v12/temporal", currentExecutions)
	c.exec(t, "unreadable", "GRANT SELECT ON cluster_membership TO reader")
	message := launch(t, "--port", "0", "--headless", "--postgres", c.dsn("reader", "x", "unreadable")).fails(1)
	assert.Contains(t, message, "read its version: ERROR: permission denied for table schema_version")
	assert.NotContains(t, message, "another application")
}

func postgresDefaultDatabase(t *testing.T, c *cluster) {
	t.Helper()
	p, _ := start(t, "--headless", "--postgres", c.admin(""))
	p.stop()
	assert.Equal(t, currentExecutions, one[string](t, c.connect(t, "roundsman"), executionsVersion))
}

func postgresKeyValue(t *testing.T, c *cluster) {
	t.Helper()
	text := `host=127.0.0.1 user=admin dbname=pairs password='p@ss w/rd\'s' port=` + strconv.Itoa(c.port)
	p, _ := start(t, "--headless", "--postgres", text)
	p.stop()
}

// setUpSchema leaves a database as an older server would have.
func setUpSchema(t *testing.T, c *cluster, database, schema, version string) {
	t.Helper()
	db, err := sqltool.NewConnection(&config.SQL{
		PluginName: postgresql.PluginNamePGX, DatabaseName: database,
		Connect: func(*config.SQL) (*sqlx.DB, error) {
			return (&driver.PGXDriver{}).CreateConnection(c.admin(database))
		},
	}, log.NewNoopLogger())
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, schematool.NewSetupSchemaTask(db,
		&schematool.SetupConfig{InitialVersion: "0.0"}, log.NewNoopLogger()).Run())
	require.NoError(t, schematool.NewUpdateSchemaTask(db,
		&schematool.UpdateConfig{DBName: database, SchemaName: schema, TargetVersion: version}, log.NewNoopLogger()).Run())
}

// The server outlives a restart of its database and takes its place back.
func TestPostgresRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p, r := start(t, "--headless", "--postgres", c.admin("restarted"))
	id := startWaiting(t, dial(t, r))
	c.stop(t)
	c.start(t)

	locks := c.connect(t, "restarted")
	require.Eventually(t, func() bool {
		return one[int](t, locks, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted") == 1
	}, patience, 50*time.Millisecond, "the lock is taken again")
	client := dial(t, r)
	require.Eventually(t, func() bool {
		_, err := client.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil
	}, patience, 100*time.Millisecond)
	p.stop()
}

func TestPostgresUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, silent.Close()) })
	for name, address := range map[string]string{
		"nobody listens": "127.0.0.1:" + strconv.Itoa(unusedPort(t)),
		"nobody answers": silent.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launch(t, "--port", "0", "--headless", "--postgres", "postgres://me:s3cret@"+address+"/jobs")
			assert.Equal(t, 1, p.wait())
			assert.Contains(t, p.stderr.String(), "cannot connect to PostgreSQL at postgres://me@"+address+"/jobs")
			assert.NotContains(t, p.stderr.String(), "s3cret")
		})
	}
}

// The advisory lock's key is shared by all versions that may ever meet.
func TestGuardKeyNeverChanges(t *testing.T) {
	t.Parallel()
	assert.Equal(t, int64(0x726f756e64736d6e), devserver.GuardKey)
}
