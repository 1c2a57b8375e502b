package testsuite

import "time"

// DefaultNamespace is the default namespace of a server.
const DefaultNamespace = "default"

// startTimeout bounds one start of the server. It takes under a second on an idle machine, and many seconds under
// -race next to other packages.
const startTimeout = 60 * time.Second

// stopTimeout bounds an orderly stop. Then the process is killed.
const stopTimeout = 20 * time.Second

// Option configures a server.
type Option func(*settings)

type settings struct {
	binary    string
	file      string
	namespace string
	ui        bool
	extra     []string
}

// WithFile stores the server's state in the SQLite file at path, so that it survives [Server.Kill] and
// [Server.Restart]. Without it the state is in memory.
func WithFile(path string) Option { return func(s *settings) { s.file = path } }

// WithNamespace serves a namespace other than [DefaultNamespace].
func WithNamespace(name string) Option { return func(s *settings) { s.namespace = name } }

// WithUI also serves the Web UI, see [Server.UIURL].
func WithUI() Option { return func(s *settings) { s.ui = true } }

// WithBinary starts a server binary other than that of [FindServer].
func WithBinary(path string) Option { return func(s *settings) { s.binary = path } }

// WithArgs appends flags to the server's command line.
func WithArgs(args ...string) Option {
	return func(s *settings) { s.extra = append(s.extra, args...) }
}

func newSettings(options []Option) settings {
	s := settings{namespace: DefaultNamespace}
	for _, option := range options {
		option(&s)
	}
	return s
}
