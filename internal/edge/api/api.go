package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"github.com/roundsman/roundsman/contract"
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
	// Name is what the audit log says.
	Name string
	// Auth is how the caller is known: none, key, oidc, session or certificate.
	Auth string
	// Address is the client's.
	Address string
	// Via is by which way the caller acts: api, console or gateway.
	Via string
	// Key is the id of an API key, Worker the only worker id that it may act for.
	Key, Worker string
	Rights      access.Rights
}

// AuthNone is the Auth of a caller who did not log in.
const AuthNone = "none"

// Authenticator finds out who sends a request. Its error is a *problem.Problem.
type Authenticator interface {
	Authenticate(r *http.Request) (Caller, error)
}

// Options shape the API.
type Options struct {
	// Client reads; As gives one that acts for a caller, and what ends it.
	Client *starter.Client
	As     func(ctx context.Context, caller Caller) (*starter.Client, func(), error)
	Auth   Authenticator
	// Denied is told of every refusal; nil: nobody is.
	Denied func(caller Caller, operation string)
	Guard  guard.Options
	// Roles are the custom ones.
	Roles []access.Role
	// Handlers and Validators are those of the binary, as config.Options has them.
	Handlers   []jobtype.Descriptor
	Validators map[string]jobtype.SettingsValidator
	// Secret signs cursors.
	Secret []byte
	// Live has the topics of the events; nil: New makes one.
	Live   *feed.Hub
	Logger *slog.Logger
	// Bare has no operations but those of Extra.
	Bare bool
	// Extra add operations of other packages, Pages serve other paths than
	// [Prefix]: the patterns of http.ServeMux.
	Extra []func(*API)
	Pages map[string]http.Handler
}

// API is the operations and their document.
type API struct {
	options Options
	mux     *http.ServeMux
	huma    huma.API
	needs   map[string]Operation
	live    *feed.Hub
	viewed  map[string]viewable
	streams streams
	// known are the lists that cost calls to visibility: one fetch for all.
	known lists
	// visibility limits the fetches of topics that list runs to one every visibleApart.
	visibility *rate.Limiter
	// away: the server did not answer when it was last asked for the topic server.
	away atomic.Bool
}

// New assembles the API. Without a client it can only describe itself.
func New(options Options) *API {
	shapeHuma()
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{
		options: options, mux: http.NewServeMux(), needs: map[string]Operation{}, live: options.Live, viewed: map[string]viewable{},
		visibility: rate.NewLimiter(rate.Every(visibleApart), 1),
	}
	if a.live == nil {
		a.live = feed.New()
	}
	a.known = a.lists()
	if options.Client != nil {
		a.live.Patrol(patrolEvery, a.goneOn)
	}
	a.huma = humago.NewWithPrefix(a.mux, Prefix, a.description())
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
	a.mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) { a.unknownPath(w, r) })
	for pattern, page := range options.Pages {
		a.mux.Handle(pattern, page)
	}
	return a
}

// description is the head of the document.
func (a *API) description() huma.Config {
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

// plainJSON writes as --output json does.
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

// shapeHuma makes huma answer with problems, and describe lists as package answer writes
// them. Its hooks are variables of the package.
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

// Document is the OpenAPI document as YAML.
func (a *API) Document() ([]byte, error) {
	text, err := a.huma.OpenAPI().YAML()
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return text, nil
}

// Downgraded is the document in OpenAPI 3.0, for generators that know no other.
func (a *API) Downgraded() ([]byte, error) {
	text, err := a.huma.OpenAPI().DowngradeYAML()
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return text, nil
}

// OpenAPI is the document itself.
func (a *API) OpenAPI() *huma.OpenAPI { return a.huma.OpenAPI() }

// Handlers are those of the binary, with what checks their settings further.
func (a *API) Handlers() ([]jobtype.Descriptor, map[string]jobtype.SettingsValidator) {
	return a.options.Handlers, a.options.Validators
}

// Handler serves the API and the pages behind the guard.
func (a *API) Handler() http.Handler {
	return a.logged(guard.Wrap(a.options.Guard, a.authenticated(a.operations())))
}

// operations answers requests of known callers.
func (a *API) operations() http.Handler { return repeatable(a.documents(conditional(a.mux))) }

type callerKey struct{}

// CallerOf is the sender of the request whose context this is; false outside of operations.
func CallerOf(ctx context.Context) (Caller, bool) {
	caller, known := ctx.Value(callerKey{}).(Caller)
	return caller, known
}

// authenticated finds out who sends the requests to [Prefix]. Pages decide for
// themselves: those of the log-in are for everybody.
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

// ViaHeader says by which way a caller acts. The console sends it; it is no proof of
// anything.
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

// unknownPath answers for paths, and methods of paths, that are no operation.
func (a *API) unknownPath(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); method != r.Method && pattern != Prefix+"/" && pattern != "" {
			w.Header().Add("Allow", method)
		}
	}
	if w.Header().Get("Allow") != "" {
		guard.Refuse(w, problem.Newf(http.StatusMethodNotAllowed, "", "%s takes no %s", r.URL.Path, r.Method))
		return
	}
	guard.Refuse(w, problem.Newf(http.StatusNotFound, "", "there is no %s", r.URL.Path).With("`roundsman api openapi` prints all paths"))
}

// Version of the program, as the document does not have it: that is the same for
// all builds.
func version() string { return buildinfo.Version() }
