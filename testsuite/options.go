package testsuite

import "time"

// DefaultNamespace is the namespace a server is started with.
const DefaultNamespace = "default"

// startTimeout bounds one start of the server. Healthy in under a second on a
// quiet machine; under -race next to other packages it can take many.
const startTimeout = 60 * time.Second

// stopTimeout bounds an orderly stop; after it the process is killed.
const stopTimeout = 20 * time.Second

// Option changes how a server is started.
type Option func(*settings)

type settings struct {
	binary    string
	file      string
	namespace string
	ui        bool
	extra     []string
}

// WithFile keeps the server's state in the SQLite file at path, so that it
// survives [Server.Kill] and [Server.Restart]. Without it state is in memory
// and lost when the process ends.
func WithFile(path string) Option { return func(s *settings) { s.file = path } }

// WithNamespace serves another namespace than [DefaultNamespace].
func WithNamespace(name string) Option { return func(s *settings) { s.namespace = name } }

// WithUI also serves the Web UI, see [Server.UIURL]. Tests rarely want it.
func WithUI() Option { return func(s *settings) { s.ui = true } }

// WithBinary starts another server binary than the one [FindServer] finds.
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
