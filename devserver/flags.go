package devserver

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

const usage = `roundsman-devserver runs a Temporal server and its Web UI on 127.0.0.1.

Usage: roundsman-devserver [flags]

  --port N             port of the frontend (default 7233; 0 chooses a free one)
  --ui-port N          port of the Web UI (default 8233; 0 chooses a free one, -1 none)
  --headless           no Web UI, as --ui-port -1
  --db-filename FILE   keep state in this SQLite file (default: in memory, lost at exit)
  --postgres DSN       keep state in PostgreSQL, e.g. postgres://user:password@host:5432/roundsman
  --namespace NAME     namespace to create and serve (default "default")
  --dynamic-config-value KEY=VALUE
                       set a setting of the server's dynamic configuration; repeatable
  --ready-file FILE    write the ready line to FILE once healthy, remove it at exit
  --log-level LEVEL    debug, info, warn or error, on stderr (default warn)
  --exit-on-stdin-eof  stop when standard input ends (so a parent takes its server with it)
  --version            print versions and exit
  --help               print this text and exit

Once the server can be used it prints one line of JSON on standard output:
  {"address":"127.0.0.1:7233","ui_url":"http://127.0.0.1:8233","namespace":"default","pid":4711,"store":"memory"}

Exit codes: 0 stopped on request, 1 failed, 2 wrong usage.
`

type flags struct {
	options                           Options
	headless, version, exitOnStdinEOF bool
}

// parseFlags returns every fault of the options at once.
func parseFlags(args []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("roundsman-devserver", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.IntVar(&f.options.Port, "port", DefaultPort, "")
	set.IntVar(&f.options.UIPort, "ui-port", DefaultUIPort, "")
	set.BoolVar(&f.headless, "headless", false, "")
	set.StringVar(&f.options.DBFilename, "db-filename", "", "")
	set.StringVar(&f.options.Postgres, "postgres", "", "")
	set.StringVar(&f.options.Namespace, "namespace", DefaultNamespace, "")
	set.Func("dynamic-config-value", "", func(written string) error {
		f.options.DynamicConfig = append(f.options.DynamicConfig, written)
		return nil
	})
	set.StringVar(&f.options.ReadyFile, "ready-file", "", "")
	set.StringVar(&f.options.LogLevel, "log-level", DefaultLogLevel, "")
	set.BoolVar(&f.exitOnStdinEOF, "exit-on-stdin-eof", false, "")
	set.BoolVar(&f.version, "version", false, "")
	if err := set.Parse(args); err != nil {
		return flags{}, err
	}
	if set.NArg() > 0 {
		return flags{}, fmt.Errorf("unexpected argument %s: everything is given by flags", strings.Join(set.Args(), " "))
	}
	if f.headless {
		f.options.UIPort = NoUI
	}
	return f, f.options.WithDefaults().Validate()
}
