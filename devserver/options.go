package devserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

const (
	// DefaultPort is the port of the Temporal frontend that every Temporal client tries first.
	DefaultPort = 7233
	// DefaultUIPort is the port of the Web UI, as in Temporal's own dev server.
	DefaultUIPort = 8233
	// DefaultNamespace is the namespace that is created and made usable.
	DefaultNamespace = "default"
	// DefaultLogLevel keeps stderr quiet unless something needs attention.
	DefaultLogLevel = "warn"
	// NoUI as Options.UIPort runs the server without the Web UI.
	NoUI    = -1
	maxPort = 65535
)

// Options are the settings of a server. The zero value is usable after WithDefaults: an in-memory server on free ports.
type Options struct {
	// Port of the frontend on 127.0.0.1; 0 chooses a free one.
	Port int
	// UIPort of the Web UI on 127.0.0.1; 0 chooses a free one, NoUI has none.
	UIPort int
	// DBFilename is the SQLite file; empty keeps everything in memory.
	DBFilename string
	// Postgres is a PostgreSQL connection string. It excludes DBFilename.
	Postgres string
	// Namespace to create and to check; default DefaultNamespace.
	Namespace string
	// ReadyFile is written once the server is healthy and removed when it stops.
	ReadyFile string
	// DynamicConfig are settings KEY=VALUE, the value as YAML.
	DynamicConfig []string
	// LogLevel is debug, info, warn or error; default DefaultLogLevel.
	LogLevel string
	// LogOutput takes the log lines (JSON); default os.Stderr.
	LogOutput io.Writer
}

// WithDefaults returns a copy with every empty setting filled in.
func (o Options) WithDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.LogLevel = cmp.Or(o.LogLevel, DefaultLogLevel)
	if o.LogOutput == nil {
		o.LogOutput = os.Stderr
	}
	return o
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	return errors.Join(
		validatePort("--port", o.Port, 0),
		validatePort("--ui-port", o.UIPort, NoUI),
		o.validatePortsDiffer(),
		o.validateStore(),
		o.validateNamespace(),
		o.validateLogLevel(),
		o.validateDynamicConfig(),
	)
}

func validatePort(flag string, port, lowest int) error {
	if port < lowest || port > maxPort {
		return fmt.Errorf("%s %d: must be between %d and %d (0 chooses a free port)", flag, port, lowest, maxPort)
	}
	return nil
}

func (o Options) validatePortsDiffer() error {
	if o.Port > 0 && o.Port == o.UIPort {
		return fmt.Errorf("--port and --ui-port are both %d: give the Web UI another port, or --headless", o.Port)
	}
	return nil
}

func (o Options) validateStore() error {
	if o.DBFilename != "" && o.Postgres != "" {
		return errors.New("--db-filename and --postgres exclude each other: choose one store")
	}
	return nil
}

// namespacePattern matches names that fit a URL path, a query and a log line without quoting.
const namespacePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`

func (o Options) validateNamespace() error {
	if ok, _ := regexp.MatchString(namespacePattern, o.Namespace); !ok {
		return fmt.Errorf("--namespace %q: use letters, digits, '.', '_' and '-' (at most 255)", o.Namespace)
	}
	if o.Namespace == "temporal-system" {
		return errors.New("--namespace temporal-system: reserved by Temporal, choose another")
	}
	return nil
}

func (o Options) validateLogLevel() error {
	levels := []string{"debug", "info", "warn", "error"}
	if !slices.Contains(levels, o.LogLevel) {
		return fmt.Errorf("--log-level %q: must be one of %s", o.LogLevel, strings.Join(levels, ", "))
	}
	return nil
}
