package devserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// password has characters that a connection string must escape.
const password = "p@ss w/rd's"

// cluster is a PostgreSQL server of the test's own, on loopback.
type cluster struct {
	bin, dir string
	port     int
	// run is who may run PostgreSQL; it refuses to be run by root.
	run *syscall.Credential
	cmd *exec.Cmd
}

// newCluster skips the test where PostgreSQL is not installed.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{bin: findPostgres(t), run: postgresCredential(t), dir: sharedDir(t)}
	if c.run != nil {
		require.NoError(t, os.Chown(c.dir, int(c.run.Uid), int(c.run.Gid)))
	}
	secret := filepath.Join(c.dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte(password), 0o600))
	if c.run != nil {
		require.NoError(t, os.Chown(secret, int(c.run.Uid), int(c.run.Gid)))
	}
	initdb := c.command("initdb", "-D", c.data(), "-U", "admin", "-A", "scram-sha-256", "--pwfile", secret, "-N", "-E", "UTF8", "--no-locale")
	out, err := initdb.CombinedOutput()
	require.NoError(t, err, string(out))
	c.port = unusedPort(t)
	c.start(t)
	t.Cleanup(func() { c.stop(t) })
	return c
}

// findPostgres also looks in Debian's directory, which is not on PATH.
func findPostgres(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	require.NoError(t, err)
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		t.Skip("PostgreSQL is not installed (apt-get install postgresql): the PostgreSQL store is not tested")
	}
	return filepath.Dir(initdb)
}

func postgresCredential(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("running as root and there is no user postgres to run PostgreSQL: the PostgreSQL store is not tested")
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// sharedDir is a directory whose parents another user may enter, which those of
// t.TempDir are not.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "roundsman-postgres-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func unusedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	addr, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)
	require.NoError(t, l.Close())
	return addr.Port
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.run}
	return cmd
}

// start runs PostgreSQL and waits until it answers. Its data is temporary, so it need not survive a power cut.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	c.cmd = c.command("postgres", "-D", c.data(), "-p", strconv.Itoa(c.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=400")
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	c.cmd.Stderr = log
	require.NoError(t, c.cmd.Start())
	require.NoError(t, log.Close())
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) //nolint:usetesting // also called in cleanups
		defer cancel()
		conn, err := pgx.Connect(ctx, c.dsn("admin", password, "postgres"))
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	}, patience, 50*time.Millisecond)
}

// stop is PostgreSQL's fast shutdown: sessions are ended, state is written.
func (c *cluster) stop(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGINT); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
	// It exits with 0 or, after a second signal, with an error of no interest.
	_ = c.cmd.Wait()
}

// dsn is the connection string of a user to a database.
func (c *cluster) dsn(name, secret, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(name, secret),
		Host: fmt.Sprintf("127.0.0.1:%d", c.port), Path: database,
	}
	return u.String()
}

// admin is the connection string of the superuser.
func (c *cluster) admin(database string) string { return c.dsn("admin", password, database) }

// connect opens a session of the superuser.
func (c *cluster) connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.admin(database))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) //nolint:usetesting // the test's context has ended
	return conn
}

// exec runs statements, one after the other.
func (c *cluster) exec(t *testing.T, database string, statements ...string) {
	t.Helper()
	conn := c.connect(t, database)
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// one reads one value.
func one[T any](t *testing.T, conn *pgx.Conn, query string) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&value), query)
	return value
}
