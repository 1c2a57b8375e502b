package examplee2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// cluster is a PostgreSQL server of the test's own, on a socket in its directory.
type cluster struct {
	t        *testing.T
	bin, dir string
	run      *syscall.Credential
}

// newCluster skips the test where PostgreSQL is not installed, or the test is not run by root.
func newCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	require.NoError(t, err)
	account, err := user.Lookup("postgres")
	if len(found) == 0 || err != nil || os.Getuid() != 0 {
		t.Skip("needs PostgreSQL of Debian, its user postgres, and root")
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	require.NoError(t, err)
	c := &cluster{t: t, bin: filepath.Dir(found[len(found)-1]), dir: filepath.Join(dir, "pg"), run: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	c.owned(c.dir)
	c.does("initdb", "-D", c.dir+"/data", "-A", "trust", "-N", "-E", "UTF8", "--no-locale")
	c.does("pg_ctl", "-D", c.dir+"/data", "-w", "-l", c.dir+"/log", "-o", "-c listen_addresses='' -c fsync=off -c unix_socket_directories="+c.dir, "start")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:usetesting // that of the test has ended
		defer cancel()
		out, err := c.command(ctx, "pg_ctl", "-D", c.dir+"/data", "-m", "immediate", "-w", "stop").CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return c
}

// owned makes a directory of the user postgres.
func (c *cluster) owned(dir string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(dir, 0o700))
	require.NoError(c.t, os.Chown(dir, int(c.run.Uid), int(c.run.Gid)))
}

// environ has the programs of the server first in PATH: Debian's pg_dump is a script.
func (c *cluster) environ() []string { return []string{"PATH=" + c.bin + ":" + os.Getenv("PATH")} }

func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...) //nolint:gosec // a program of PostgreSQL
	command.Dir, command.Env = c.dir, append(os.Environ(), "PGHOST="+c.dir)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: c.run}
	return command
}

func (c *cluster) does(name string, args ...string) string {
	c.t.Helper()
	command := c.command(c.t.Context(), name, args...)
	out, err := command.CombinedOutput()
	require.NoError(c.t, err, "%s %v: %s", name, args, out)
	return string(out)
}

func (c *cluster) sql(database, text string) string {
	c.t.Helper()
	return strings.TrimSpace(c.does("psql", "-AtXq", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text))
}

// lock holds a lock that a dump of the database waits for.
func (c *cluster) lock(database string) (release func()) {
	c.t.Helper()
	session := c.command(c.t.Context(), "psql", "-AtXq", "-d", database)
	in, err := session.StdinPipe()
	require.NoError(c.t, err)
	out, err := session.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, session.Start())
	_, err = io.WriteString(in, "begin; lock table rows in access exclusive mode; select 'locked';\n")
	require.NoError(c.t, err)
	said := make([]byte, len("locked\n"))
	_, err = io.ReadFull(out, said)
	require.NoError(c.t, err)
	return func() {
		require.NoError(c.t, in.Close())
		require.NoError(c.t, session.Wait())
	}
}

// smallDisk mounts a disk of 1 MiB at a directory of the user postgres.
func (c *cluster) smallDisk(dir string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(dir, 0o700))
	require.NoError(c.t, syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=1m,uid=%d,gid=%d,mode=0700", c.run.Uid, c.run.Gid)))
	c.t.Cleanup(func() { require.NoError(c.t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

const checksum = "select count(*) || ' ' || md5(string_agg(text, ',' order by id)) from rows"

// TestPostgres dumps twelve databases: the node that dumps one of them is killed, one refuses, and the disk
// of one is full.
func TestPostgres(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := newCluster(t, s.shared)
	names := []string{"postgres", "shop", "crm", "wiki", "mail", "stock", "jobs", "blog", "refused", "archive", "locked", "small"}
	c.sql("postgres", "create table rows (id int, text text)")
	for _, name := range names[1:] {
		c.does("createdb", name)
		c.sql(name, "create table rows as select id, md5(id::text || current_database()) as text from generate_series(1, 2000) as id")
	}
	c.sql("archive", "insert into rows select id, md5(random()::text) from generate_series(1, 200000) as id")
	access := c.dir + "/data/pg_hba.conf"
	require.NoError(t, os.WriteFile(access, []byte("local refused all reject\nlocal all all trust\n"), 0o600))
	c.sql("postgres", "select pg_reload_conf()")
	dumps := filepath.Join(s.shared, "dumps")
	c.owned(dumps)
	c.smallDisk(filepath.Join(dumps, "archive"))
	s.apply("postgres", "/run/postgresql", c.dir, "/srv/dumps", dumps, "backoff: 1m", "backoff: 100ms")

	release := c.lock("locked")
	for _, id := range []string{"node-a", "node-b", "node-c"} {
		s.worker(id, c.environ())
	}
	s.AwaitFresh("node-a", "node-b", "node-c")
	ref := s.Begin("dump")
	first := func() []program { return alive("pg_dump", "-d locked ") }
	s.eventually("a dump waits for the lock", func() bool { return len(first()) == 1 })
	most, watched := 0, make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			most = max(most, len(first()))
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	victim := first()[0].worker
	at := slices.IndexFunc(s.Processes, func(p *sites.Process) bool { return slices.Contains(p.Args, victim) })
	s.Processes[at].Kill()
	s.eventually("another node dumps it", func() bool { found := first(); return len(found) == 1 && found[0].worker != victim })
	release()
	result := s.Result(ref)
	close(ended)
	<-watched
	assert.Equal(t, 1, most, "never two dumps of one database")

	assert.Equal(t, contract.OutcomePartial, result.Outcome, "%+v", result)
	assert.Equal(t, 10, result.Counts.Completed, "%+v", result)
	assert.Equal(t, 2, result.Counts.Failed, "%+v", result)
	items := s.items(ref)
	require.Len(t, items, len(names))
	for _, name := range names {
		dump := filepath.Join(dumps, name, "latest.dump")
		if name == "refused" || name == "archive" {
			assert.Equal(t, "failed", items[name].State, name)
			assert.NoFileExists(t, dump)
			assert.NoFileExists(t, filepath.Join(dumps, name, "new.dump"))
			continue
		}
		assert.Equal(t, "completed", items[name].State, name)
		assert.FileExists(t, dump)
	}
	assert.Contains(t, items["refused"].Error, "pg_hba.conf rejects connection")
	assert.Contains(t, items["archive"].Error, "No space left on device")
	assert.NotEqual(t, victim, items["locked"].Worker)

	restored := s.Result(s.Begin("restore_test"))
	assert.Equal(t, 10, restored.Counts.Completed, "%+v", restored)
	assert.NotContains(t, c.sql("postgres", "select string_agg(datname, ' ') from pg_database"), "restore_")
	c.does("createdb", "again")
	c.does("pg_restore", "-d", "again", filepath.Join(dumps, "locked", "latest.dump"))
	assert.Equal(t, c.sql("locked", checksum), c.sql("again", checksum))

	vacuumed := s.Result(s.Begin("vacuum"))
	assert.Equal(t, len(names), vacuumed.Counts.Completed, "twelve and the new one, but for the one that refuses: %+v", vacuumed)
}
