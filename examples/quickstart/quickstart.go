package quickstart

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Config is the configuration, as YAML. Its paths are relative to the worker's
// working directory.
//
//go:embed roundsman.yaml
var Config []byte

// LogDir is the directory with logs that [Config] names.
const LogDir = ".roundsman/quickstart/logs"

// ConfigFor returns [Config] with another directory of logs, for a data
// directory that is elsewhere.
func ConfigFor(logDir string) ([]byte, error) {
	quoted, err := json.Marshal(logDir) // JSON text is YAML text
	if err != nil {
		return nil, err
	}
	before, after := []byte("dir: "+LogDir+"\n"), append([]byte("dir: "), append(quoted, '\n')...)
	if bytes.Count(Config, before) != 1 {
		return nil, errors.New("the quickstart's configuration does not name its directory of logs once")
	}
	return bytes.Replace(Config, before, after, 1), nil
}

const (
	services    = 5
	days        = 8
	smallestLog = 10 << 10
	largestLog  = 200 << 10
)

// Prepare fills dir with log files of an invented shop: 40 files of 10 to 200 KiB, one per service and day. It
// keeps existing files, so it may be called again. Compressed files are written again, as logs are.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("prepare the quickstart: %w", err)
	}
	for service := range services {
		for day := range days {
			if err := writeLog(dir, service, day); err != nil {
				return fmt.Errorf("prepare the quickstart: %w", err)
			}
		}
	}
	return nil
}

// writeLog renames the finished file into place: a job may look for logs at
// any moment.
func writeLog(dir string, service, day int) error {
	path := filepath.Join(dir, fmt.Sprintf("%s-2026-03-%02d.log", serviceNames[service], day+1))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, logContent(service, day), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

var (
	serviceNames = [services]string{"cart", "checkout", "gateway", "search", "stock"}                                  //nolint:gochecknoglobals // constant table
	paths        = []string{"/", "/items", "/items/search?q=", "/cart", "/cart/items", "/orders", "/health", "/login"} //nolint:gochecknoglobals // constant table
	agents       = []string{"Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "shop-app/3.1 (Android 15)"}              //nolint:gochecknoglobals // constant table
)

// logContent writes lines of an access log until the size drawn for this file
// is reached.
func logContent(service, day int) []byte {
	draw := rand.New(rand.NewPCG(uint64(service), uint64(day))) //nolint:gosec // invented data, the same every time
	size := smallestLog + draw.IntN(largestLog-smallestLog)
	var log bytes.Buffer
	for second := 0; ; second += draw.IntN(40) {
		line := logLine(draw, service, day, second)
		if log.Len()+len(line) > size {
			return log.Bytes()
		}
		log.WriteString(line)
	}
}

func logLine(draw *rand.Rand, service, day, second int) string {
	status := 200
	if n := draw.IntN(100); n < 4 {
		status = []int{301, 404, 500, 503}[n]
	}
	return fmt.Sprintf("10.%d.%d.%d - - [%02d/Mar/2026:%02d:%02d:%02d +0000] \"GET %s%d HTTP/2.0\" %d %d \"%s\" %s %dms trace=%016x\n",
		service, draw.IntN(8), draw.IntN(250)+1, day+1, second/3600%24, second/60%60, second%60,
		paths[draw.IntN(len(paths))], draw.IntN(5000), status, draw.IntN(60_000), agents[draw.IntN(len(agents))],
		serviceNames[service], draw.IntN(900), draw.Uint64())
}
