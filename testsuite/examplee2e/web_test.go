package examplee2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestWeb checks real certificates, compresses old logs, and restarts three HTTP servers. One does not come
// back at first.
func TestWeb(t *testing.T) {
	t.Parallel()
	need(t, "openssl", "curl", "gzip", "find")
	s := newSite(t)
	dir := func(name string) string { return filepath.Join(s.Dir, name) }
	for _, name := range []string{"ssl", "logs", "bin", "www"} {
		require.NoError(t, os.Mkdir(dir(name), 0o700))
	}
	for name, days := range map[string]string{"good": "90", "ends": "5"} {
		output(t, nil, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", days, "-subj", "/CN="+name, "-keyout", dir(name+".key"), "-out", dir("ssl/"+name+".pem"))
	}
	require.NoError(t, os.WriteFile(dir("ssl/broken.pem"), []byte("no certificate\n"), 0o600))
	for name, age := range map[string]time.Duration{"old": 72 * time.Hour, "new": time.Minute} {
		require.NoError(t, os.WriteFile(dir("logs/"+name+".log"), []byte(name), 0o600))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir("logs/"+name+".log"), at, at))
	}
	s.apply("web", "/etc/ssl/sites", dir("ssl"), "/var/log/sites", dir("logs"), "/srv/www/down", dir("www/$ROUNDSMAN_WORKER_ID.down"),
		`[touch, "{{.Params.down}}"]`, `[sh, -c, 'eval touch "$0"', "{{.Params.down}}"]`, `[rm, -f, "{{.Params.down}}"]`, `[sh, -c, 'eval rm -f "$0"', "{{.Params.down}}"]`,
		`[curl, --fail, --silent, --show-error, --output, /dev/null, --max-time, "5", "http://127.0.0.1/health"]`,
		`[sh, -c, 'exec curl --fail --silent --show-error --output /dev/null --max-time 5 "http://$ADDRESS/health"']`, "backoff: 3s", "backoff: 200ms")
	servers := map[string]*server{}
	require.NoError(t, os.WriteFile(dir("bin/systemctl"), []byte("#!/bin/sh\nexec curl --fail --silent \"http://$CONTROL/$1/$2\"\n"), 0o700)) //nolint:gosec // a program
	var journal book
	roles := map[string]string{"web-1": "web", "web-2": "other", "web-3": "other"} // The three share a disk.
	for _, id := range []string{"web-1", "web-2", "web-3"} {
		servers[id] = newServer(t, id, &journal, dir("www/"+id+".down"))
		s.worker(id, []string{"PATH=" + dir("bin") + ":" + os.Getenv("PATH"), "ADDRESS=" + servers[id].address, "CONTROL=" + servers[id].control}, "--labels", "role="+roles[id])
	}
	s.AwaitFresh("web-1", "web-2", "web-3")

	ref := s.Begin("certificates")
	result := s.Result(ref)
	assert.Equal(t, []int{1, 1, 1}, []int{result.Counts.Completed, result.Counts.Warning, result.Counts.Failed}, "%+v", result)
	for key, item := range s.items(ref) {
		switch {
		case strings.HasSuffix(key, "good.pem"):
			assert.Equal(t, "completed", item.State)
		case strings.HasSuffix(key, "ends.pem"):
			assert.Equal(t, "warning", item.State)
		default:
			assert.Equal(t, "failed", item.State, key)
		}
	}
	compressed := s.Result(s.Begin("compress_logs"))
	assert.Equal(t, 1, compressed.Counts.Completed, "%+v", compressed)
	assert.FileExists(t, dir("logs/old.log.gz"))
	assert.NoFileExists(t, dir("logs/old.log"))
	assert.FileExists(t, dir("logs/new.log"))

	servers["web-2"].broken(true)
	failed := s.Result(s.Begin("rolling_restart"))
	assert.Equal(t, contract.OutcomeFailed, failed.Outcome, "%+v", failed)
	assert.Equal(t, []string{"web-1 is restarted while it is down", "web-2 is restarted while it is down"}, journal.all())
	assert.NoFileExists(t, dir("www/web-1.down"), "it is back in")
	assert.FileExists(t, dir("www/web-2.down"), "it stays out")
	servers["web-2"].broken(false)
	require.Equal(t, ui.ExitOK, s.Start("retry", "rolling_restart", "-w").Code(t, time.Minute))
	assert.Equal(t, []string{"web-3 is restarted while it is down"}, journal.all()[2:])
	assert.NoFileExists(t, dir("www/web-2.down"))
}

// book lists events in their order.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (b *book) add(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
}

func (b *book) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.lines...)
}

// server is a web server, and the address at which systemctl restarts it.
type server struct {
	address, control string

	mu   sync.Mutex
	down bool
}

func newServer(t *testing.T, id string, journal *book, out string) *server {
	t.Helper()
	s := &server{}
	serve := func(handle http.HandlerFunc) string {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		web := &http.Server{Handler: handle, ReadHeaderTimeout: time.Minute}
		go func() { _ = web.Serve(listener) }() // Until the test closes it.
		t.Cleanup(func() { _ = web.Close() })
		return listener.Addr().String()
	}
	s.address = serve(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.down {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s.control = serve(func(_ http.ResponseWriter, request *http.Request) {
		state := "in"
		if _, err := os.Stat(out); err == nil {
			state = "down"
		}
		if request.URL.Path == "/restart/nginx" {
			journal.add(fmt.Sprintf("%s is restarted while it is %s", id, state))
		}
	})
	return s
}

// broken sets whether the server is faulty after its restart.
func (s *server) broken(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = is
}
