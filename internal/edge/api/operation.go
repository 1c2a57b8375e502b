package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/handled"
)

// PermissionExtension is the document's field for the permission of an operation.
const PermissionExtension = "x-roundsman-permission"

// LiveExtension is the document's field of a GET that can be a topic of the events.
const LiveExtension = "x-roundsman-live"

// Reach is the scope in which an operation needs its permission.
type Reach int

// The reaches.
const (
	// Everything: the thing belongs to no job type and no DAG.
	Everything Reach = iota
	Named
	// Some: the operation filters a list with [Call.Sees], or resolves the thing and calls [Call.Need].
	Some
)

// Scoped is an input that names a job type or a DAG.
type Scoped interface{ Scope() access.Scope }

// Operation declares one operation of the API.
type Operation struct {
	// ID is unique and in kebab-case. Summary begins with a verb.
	ID, Method, Path, Tag, Summary, Description string
	// May is the required permission, Reach its scope.
	May   access.Permission
	Reach Reach
	// Status of a success. Default 200.
	Status int
	// Safe marks a POST that changes nothing and is a POST because of its body.
	Safe bool
	// Document allows a body of type application/yaml, which is {"document": TEXT}.
	Document bool
	// Once means that a repeated request cannot return the first answer again.
	Once bool
	// AnyHandler requires rights to all handlers, since the operation may introduce any handler.
	AnyHandler bool
	// Bulk: the requests inside have their own permissions.
	Bulk bool
	// Streams: the answer is sent while it is made. It has no ETag, and may take longer than the server's read timeout.
	Streams bool
	// Live makes the operation a topic of the events. Its Of may contain [OfRun] and [OfThing].
	Live *feed.Topic
	// Settings: it changes those of a job type. A repeat is compared with them also without If-Match.
	Settings bool
	// Already reports whether the thing is as the request would make it. Without it a repeat gets 412 if the thing has
	// changed since it was read.
	Already func(ctx context.Context, call *Call, in any) (bool, error)
	// Description of the answer 204, if there is one.
	Nothing string
}

// Writes reports whether the operation changes anything.
func (o Operation) Writes() bool { return o.Method != http.MethodGet && !o.Safe }

// Call is one request to an operation.
type Call struct {
	Caller
	// Client acts for the caller in operations that write, except in the protocol of workers.
	Client    *starter.Client
	SetHeader func(name, value string)
	// Request is the id of a request with an idempotency key, else empty.
	Request string

	api       *API
	operation Operation
	refused   error
	wait      time.Duration
}

// Sees reports whether the caller may use the operation in this scope.
func (c *Call) Sees(scope access.Scope) bool { return c.Rights.Allows(c.operation.May, scope) }

func (c *Call) byHandler() bool {
	return c.operation.Writes() && c.operation.May.Verb != access.Work && c.Rights.ByHandler()
}

// NeedHandlers is [Call.Need] for a thing with handlers. It calls find only if the caller's rights depend on them.
func (c *Call) NeedHandlers(scope access.Scope, find func() ([]string, error)) error {
	if c.Rights.ByHandler() {
		var err error
		if scope.Handlers, err = find(); err != nil {
			return err
		}
	}
	return c.Need(scope)
}

func handlersOf(ctx context.Context, client *starter.Client, in any, scope access.Scope) ([]string, error) {
	if about, ok := in.(aboutRun); ok {
		run := starter.RunRef{WorkflowID: about.workflowID()}
		switch run.Kind() {
		case starter.KindDAG:
			return handled.OfRun(ctx, client, run)
		case starter.KindGroup:
			return handled.OfGroup(ctx, client, run)
		}
	}
	if scope.JobType == "" {
		return nil, nil
	}
	return handled.OfJobType(ctx, client, scope.JobType)
}

// Need returns an error unless [Call.Sees]. The error does not reveal whether the thing exists.
func (c *Call) Need(scope access.Scope) error {
	if c.Sees(scope) {
		return nil
	}
	return c.api.deny(c.Caller, c.operation)
}

// NeedTo is [Call.Need] for a permission beyond that of the operation.
func (c *Call) NeedTo(may access.Permission, scope access.Scope) error {
	if c.Rights.Allows(may, scope) {
		return nil
	}
	operation := c.operation
	operation.May = may
	return c.api.deny(c.Caller, operation)
}

// Logf logs a warning that the answer does not contain.
func (c *Call) Logf(format string, args ...any) {
	c.api.options.Logger.Warn(fmt.Sprintf(format, args...), "operation", c.operation.ID)
}

// Statused is an answer with its own status. A 204 has no body.
type Statused interface{ HTTPStatus() int }

type answered struct {
	Status int
	Body   any
}

// Add adds an operation to the API. do returns the body; its error may be a *problem.Problem.
func Add[I, O any](a *API, o Operation, do func(ctx context.Context, call *Call, in *I) (O, error)) {
	a.declare(o)
	if _, scoped := any(new(I)).(Scoped); scoped != (o.Reach == Named) {
		panic(fmt.Sprintf("operation %s: its input is scoped: %t, its reach: %d", o.ID, scoped, o.Reach))
	}
	huma.Register(a.huma, described(a, o, reflect.TypeFor[O]()), func(ctx context.Context, in *I) (*answered, error) {
		ctx, call, end, err := a.begin(ctx, o, in)
		if err != nil {
			return nil, a.failed(o, err)
		}
		defer end()
		if o.Writes() && o.May.Verb != access.Work {
			defer a.live.ChangedAll() // Also after an error.
		}
		body, err := do(ctx, call, in)
		if err != nil {
			return nil, a.failed(o, err)
		}
		if ended, is := call.awaited(ctx, body); is {
			return &answered{Status: http.StatusOK, Body: ended}, nil
		}
		status := cmp.Or(o.Status, http.StatusOK)
		if own, ok := any(body).(Statused); ok {
			status = own.HTTPStatus()
		}
		return &answered{Status: status, Body: body}, nil
	})
	a.describeDocument(o)
}

func described(a *API, o Operation, body reflect.Type) huma.Operation {
	described := a.operation(o)
	status := strconv.Itoa(cmp.Or(o.Status, http.StatusOK))
	if described.Responses == nil {
		described.Responses = map[string]*huma.Response{}
	}
	described.Responses[status] = &huma.Response{
		Description: http.StatusText(cmp.Or(o.Status, http.StatusOK)),
		Content:     map[string]*huma.MediaType{guard.JSON: {Schema: a.huma.OpenAPI().Components.Schemas.Schema(body, true, "")}},
	}
	describeKeys(o, &described)
	describeConditions(o, &described)
	a.describeWait(o, &described, body)
	described.Responses["default"] = &huma.Response{
		Description: "A problem",
		Content:     map[string]*huma.MediaType{problem.ContentType: {Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem.Problem](), true, "Problem")}},
	}
	return described
}

func (a *API) operation(o Operation) huma.Operation {
	described := huma.Operation{
		OperationID: o.ID, Method: o.Method, Path: o.Path, Summary: o.Summary, Description: o.Description,
		Tags: []string{o.Tag}, DefaultStatus: o.Status, MaxBodyBytes: -1, RejectUnknownQueryParameters: true,
		// The body has been read. A read timeout would cancel the connection's context during a long operation.
		BodyReadTimeout: -1,
		Extensions:      map[string]any{PermissionExtension: o.May.String()},
		Middlewares:     huma.Middlewares{a.admit(o)},
	}
	if o.Live != nil {
		described.Extensions[LiveExtension] = true
	}
	if o.Nothing != "" {
		described.Responses = map[string]*huma.Response{strconv.Itoa(http.StatusNoContent): {Description: o.Nothing}}
	}
	return described
}

func (a *API) admit(o Operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		reached(ctx, o)
		caller, known := CallerOf(ctx.Context())
		if !known {
			writeProblem(ctx, problem.New(http.StatusUnauthorized, "", "not logged in"))
			return
		}
		if !caller.Rights.AllowsSome(o.May) {
			writeProblem(ctx, a.deny(caller, o))
			return
		}
		wait := waitWanted(ctx.Header("Prefer"))
		if wait > 0 || o.Bulk || o.Streams {
			patient(ctx)
		}
		next(huma.WithValue(ctx, wireKey{}, wire{ctx.SetHeader, wait}))
	}
}

type wireKey struct{}

type wire struct {
	setHeader func(name, value string)
	wait      time.Duration
}

func writeProblem(ctx huma.Context, refused *problem.Problem) {
	ctx.SetHeader("Content-Type", problem.ContentType)
	ctx.SetStatus(refused.Status)
	_ = plainJSON().Marshal(ctx.BodyWriter(), refused) // The client has disconnected.
}

func (a *API) deny(caller Caller, o Operation) *problem.Problem {
	if a.options.Denied != nil && o.Writes() {
		caller.Via = viaOf(caller, o.May.Verb)
		a.options.Denied(caller, o.ID)
	}
	return problem.Newf(http.StatusForbidden, problem.CodeAccessDenied, "%s may not %s here", caller.Name, o.May).
		With("an administrator can grant a role with this permission; GET /me lists yours")
}

// Operations that write get a client that acts for the caller.
func (a *API) begin(ctx context.Context, o Operation, in any) (context.Context, *Call, func(), error) {
	caller, _ := CallerOf(ctx)
	call := &Call{Caller: caller, Client: a.options.Client, SetHeader: func(string, string) {}, api: a, operation: o}
	if own, ok := ctx.Value(wireKey{}).(wire); ok {
		call.SetHeader, call.wait = own.setHeader, own.wait
	}
	var scope access.Scope
	if named, ok := in.(Scoped); ok {
		scope = named.Scope()
	}
	if run, ok := in.(aboutRun); ok {
		var err error
		if scope, err = call.scopeOf(ctx, run.workflowID()); err != nil {
			return ctx, nil, nil, err
		}
	}
	if call.byHandler() && (scope.JobType != "" || scope.DAG != "") && !o.AnyHandler {
		var err error
		if scope.Handlers, err = handlersOf(ctx, call.Client, in, scope); err != nil {
			return ctx, nil, nil, err
		}
	}
	if o.Reach != Some {
		if err := call.Need(scope); err != nil {
			return ctx, nil, nil, err
		}
	}
	if !o.Writes() || o.May.Verb == access.Work || o.Bulk || a.options.As == nil {
		return ctx, call, func() {}, nil
	}
	client, end, err := a.options.As(ctx, caller)
	if err != nil {
		return ctx, nil, nil, err
	}
	call.Client = client
	if ctx, err = a.claim(ctx, call, in); err != nil {
		end()
		return ctx, nil, nil, err
	}
	return ctx, call, end, nil
}

func (a *API) failed(o Operation, err error) error {
	p := problem.From(err)
	if p.Status == http.StatusInternalServerError {
		a.options.Logger.Error("an operation failed", "operation", o.ID, "error", err)
	}
	return p
}

// Types of some packages get the package's name in front: other packages have types of the same name.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[starter.Progress]() {
		return "RunProgress" // Remote workers have another Progress.
	}
	name := huma.DefaultSchemaNamer(t, hint)
	last := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	switch last {
	case "config", "dag", "spec", "explain", "forecast":
		return strings.ToUpper(last[:1]) + last[1:] + name
	case "action":
		return "Action" + strings.TrimPrefix(name, "Action")
	case "ticks":
		return "Ledger" + name // As the operation that lists them.
	}
	return name
}
