package api

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/cursor"
	"github.com/roundsman/roundsman/internal/edge/api/etag"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/internal/lib/jsonout"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// Prefix is the path of all operations.
const Prefix = "/api/v1"

// Caller is the authenticated sender of a request.
type Caller struct {
	// Name in the audit log.
	Name string
	// Auth is the means of authentication: none, key, oidc, session or certificate.
	Auth    string
	Address string
	// Via is the interface used: api, console or gateway.
	Via string
	// Key is the id of an API key, Worker the only worker id that it may use.
	Key, Worker string
	Rights      access.Rights
}

// AuthNone is the Auth of a caller without a log-in.
const AuthNone = "none"

// Authenticator returns the sender of a request. Its error is a *problem.Problem.
type Authenticator interface {
	Authenticate(r *http.Request) (Caller, error)
}

// Options configure the API.
type Options struct {
	// Client reads. As returns a client that acts for a caller, and a function that closes it.
	Client *starter.Client
	As     func(ctx context.Context, caller Caller) (*starter.Client, func(), error)
	Auth   Authenticator
	// Denied is called for every refusal if not nil.
	Denied func(caller Caller, operation string)
	Guard  guard.Options
	Roles  []access.Role
	// Bindings, Keys and LogIn are of the configuration, for the page of access.
	Bindings []access.Binding
	Keys     bool
	LogIn    bool
	// Handlers and Validators of the binary, as in config.Options.
	Handlers   []jobtype.Descriptor
	Validators map[string]jobtype.SettingsValidator
	Secret     []byte
	// Live has the topics of the events; New creates it if nil.
	Live   *feed.Hub
	Logger *slog.Logger
	// Bare leaves out all operations except those of Extra.
	Bare bool
	// Extra add operations of other packages. Pages serve paths outside [Prefix], by patterns of http.ServeMux.
	Extra []func(*API)
	Pages map[string]http.Handler
}

// API holds the operations and their document.
type API struct {
	catalog
	cursors    cursor.Signer
	options    Options
	live       *feed.Hub
	viewed     map[string]viewable
	streams    streams
	turns      etag.Turns
	known      *sharedLists
	visibility *rate.Limiter
	away       atomic.Bool
}

// New assembles the API. Without a client it can only return its document.
func New(options Options) *API {
	shapeHuma()
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	a := &API{
		catalog: newCatalog(), cursors: cursor.Signer{Secret: options.Secret}, options: options, live: options.Live, viewed: map[string]viewable{},
		known: newLists(options.Client, options.Logger), visibility: rate.NewLimiter(rate.Every(visibleApart), 1),
	}
	if a.live == nil {
		a.live = feed.New()
	}
	if options.Client != nil {
		a.live.Patrol(patrolEvery, a.goneOn)
	}
	if !options.Bare {
		a.inspection()
		a.jobTypes()
		a.runs()
		a.items()
		a.workers()
		a.admission()
		a.keys()
		a.events()
		a.bulk()
	}
	for _, add := range options.Extra {
		add(a)
	}
	a.mux.HandleFunc(Prefix+"/", a.unknownPath)
	for pattern, page := range options.Pages {
		a.mux.Handle(pattern, page)
	}
	return a
}

func description() huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Roundsman", Version: "v1",
				Description: "Maintenance jobs on Temporal: job types, runs, workers. Every failure is a problem (RFC 9457) with code, remedy and retryable. Lists are [], never null.",
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer":  {Type: "http", Scheme: "bearer", Description: "An API key (rmk_…), or a token of the configured OIDC issuer"},
					"session": {Type: "apiKey", In: "cookie", Name: "roundsman_session", Description: "The cookie of a log-in in the browser"},
				},
			},
			Security: []map[string][]string{{"bearer": {}}, {"session": {}}},
		},
		OpenAPIPath:   "/openapi",
		Formats:       map[string]huma.Format{"application/json": plainJSON(), "json": plainJSON()},
		DefaultFormat: "application/json",
	}
}

func plainJSON() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, value any) error {
			text, err := jsonout.JSON(value, "")
			if err == nil {
				_, err = w.Write(text)
			}
			return err //nolint:wrapcheck // the operation's own
		},
		Unmarshal: json.Unmarshal,
	}
}

// shapeHuma makes huma return problems and lists as package jsonout does, through its package variables.
var shapeHuma = sync.OnceFunc(func() { //nolint:gochecknoglobals // set once, before anything is served
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		p := problem.New(status, "", message)
		for _, err := range errs {
			fault := problem.Fault{Message: err.Error()}
			if detailed, ok := err.(huma.ErrorDetailer); ok {
				detail := detailed.ErrorDetail()
				fault = problem.Fault{Message: detail.Message, Location: detail.Location}
			}
			p.Errors = append(p.Errors, fault)
		}
		return p
	}
})

// Handlers returns the handlers of the binary and the validators of their settings.
func (a *API) Handlers() ([]jobtype.Descriptor, map[string]jobtype.SettingsValidator) {
	return a.options.Handlers, a.options.Validators
}

// Handler serves the API and the pages behind the guard.
func (a *API) Handler() http.Handler {
	return a.logged(guard.Wrap(a.options.Guard, a.authenticated(a.operations())))
}

func (a *API) operations() http.Handler { return repeatable(a.documents(a.conditional(a.mux))) }

type callerKey struct{}

// CallerOf returns the caller of the request with this context; false outside of operations.
func CallerOf(ctx context.Context) (Caller, bool) {
	caller, known := ctx.Value(callerKey{}).(Caller)
	return caller, known
}

// Pages authenticate themselves, since those of the log-in are public.
func (a *API) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !under(Prefix, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		caller, err := a.options.Auth.Authenticate(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="roundsman"`)
			guard.Refuse(w, problem.From(err))
			return
		}
		caller.Address = guard.ClientAddress(r.Context())
		if caller.Via, err = a.via(r); err != nil {
			guard.Refuse(w, problem.From(err))
			return
		}
		Identified(r.Context(), caller)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

// ViaHeader names the interface that a caller uses. The console sends it; it proves nothing.
const ViaHeader = "X-Roundsman-Via"

func (a *API) via(r *http.Request) (string, error) {
	switch written := r.Header.Get(ViaHeader); written {
	case "", contract.ViaAPI:
		if a.options.Bare {
			return contract.ViaGateway, nil
		}
		return contract.ViaAPI, nil
	case contract.ViaConsole:
		return contract.ViaConsole, nil
	default:
		return "", problem.Newf(http.StatusUnprocessableEntity, "", "%s is %.40q: it may be api or console", ViaHeader, written)
	}
}

func under(prefix, path string) bool {
	return len(path) >= len(prefix) && path[:len(prefix)] == prefix && (len(path) == len(prefix) || path[len(prefix)] == '/')
}

// version of the program. The document does not contain it, so that it is the same in all builds.
func version() string { return buildinfo.Version() }
