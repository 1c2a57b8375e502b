package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter/keys"
)

type keyList struct {
	Keys []keys.Key `json:"keys"`
	Page
}

type keyPath struct {
	ID string `path:"id" maxLength:"32"`
}

// CreatedKey is a key with its secret, which cannot be read again.
type CreatedKey struct {
	keys.Key
	Secret string `json:"secret" doc:"Shown once"`
}

func (a *API) keys() {
	const tag = "access"
	change := access.Permission{Verb: access.Change, Kind: access.Keys}
	Add(a, Operation{
		ID: "list-keys", Method: http.MethodGet, Path: "/keys", Tag: tag, Summary: "List the API keys, without their secrets",
		May: access.Permission{Verb: access.View, Kind: access.Keys},
	}, func(ctx context.Context, call *Call, in *struct{ Listing }) (keyList, error) {
		all, err := keys.New(call.Client).List(ctx)
		if err != nil {
			return keyList{}, err
		}
		// Control planes append keys with their own clocks.
		slices.SortFunc(all, func(a, b keys.Key) int { return cmp.Compare(keyPosition(a), keyPosition(b)) })
		kept, page, err := Cut(call, "keys", in.Listing, all, keyPosition)
		return keyList{kept, page}, err
	})
	Add(a, Operation{
		ID: "create-key", Method: http.MethodPost, Path: "/keys", Tag: tag, Summary: "Create an API key; its secret is shown once",
		May: change, Status: http.StatusCreated, Once: true,
	}, a.createKey)
	Add(a, Operation{
		ID: "rotate-key", Method: http.MethodPost, Path: "/keys/{id}/rotate", Tag: tag, Summary: "Replace an API key by one with the same rights; the old one is refused within 5 seconds",
		May: change, Status: http.StatusCreated, Once: true,
	}, func(ctx context.Context, call *Call, in *keyPath) (CreatedKey, error) {
		key, secret, err := keys.New(call.Client).Rotate(ctx, in.ID, call.Name)
		return CreatedKey{key, secret}, withSecret(err, secret)
	})
	Add(a, Operation{
		ID: "get-access", Method: http.MethodGet, Path: "/access", Tag: tag, Summary: "Show access: roles and bindings of the configuration, and the permissions of one caller",
		May: access.Permission{Verb: access.View, Kind: access.Keys},
	}, func(_ context.Context, _ *Call, in *accessQuery) (Access, error) {
		return a.accessOf(in), nil
	})
	Add(a, Operation{
		ID: "revoke-key", Method: http.MethodPost, Path: "/keys/{id}/revoke", Tag: tag, Summary: "Revoke an API key: it is refused within 5 seconds",
		May: change,
	}, func(ctx context.Context, call *Call, in *keyPath) (keys.Key, error) {
		return keys.New(call.Client).Revoke(ctx, in.ID, call.Name)
	})
	Add(a, Operation{
		ID: "end-sessions", Method: http.MethodPost, Path: "/sessions/end", Tag: tag, Summary: "End all sessions of a person: they are refused within 5 seconds",
		Description: "A session has the groups of its log-in. End the sessions of a person who has left a group.",
		May:         change,
	}, func(ctx context.Context, call *Call, in *struct {
		Body sessionsBody
	},
	) (SessionsEnded, error) {
		return SessionsEnded{in.Body.Name}, keys.New(call.Client).EndSessionsOf(ctx, in.Body.Name)
	})
}

// Access lists the roles and bindings of this control plane.
type Access struct {
	Auth     string           `json:"auth" enum:"none,login" doc:"none: without a log-in, every caller may do everything"`
	Keys     bool             `json:"keys" doc:"API keys are accepted"`
	Roles    []RoleShown      `json:"roles"`
	Bindings []access.Binding `json:"bindings"`
	// Grants of the caller in the query.
	Grants []access.Granted `json:"grants" doc:"Permissions of the caller in the query"`
}

// RoleShown is a role with its permissions as text.
type RoleShown struct {
	Name        string   `json:"name"`
	BuiltIn     bool     `json:"built_in"`
	Permissions []string `json:"permissions"`
}

type accessQuery struct {
	Name   string   `query:"name" maxLength:"200" doc:"Name of a person, for their permissions"`
	Groups []string `query:"group,explode" maxItems:"100" doc:"The person's groups"`
}

func (a *API) accessOf(in *accessQuery) Access {
	shown := Access{Auth: "none", Keys: a.options.Keys, Roles: []RoleShown{}, Bindings: lists.OrEmpty(a.options.Bindings), Grants: []access.Granted{}}
	if a.options.LogIn {
		shown.Auth = "login"
	}
	builtIn := access.BuiltIn()
	for i, role := range append(builtIn, a.options.Roles...) {
		one := RoleShown{Name: role.Name, BuiltIn: i < len(builtIn), Permissions: []string{}}
		for _, permission := range role.Permissions {
			one.Permissions = append(one.Permissions, permission.String())
		}
		shown.Roles = append(shown.Roles, one)
	}
	if in.Name != "" || len(in.Groups) > 0 {
		rights := access.Policy{Roles: a.options.Roles, Bindings: a.options.Bindings}.Rights(access.Subject{Name: in.Name, Groups: in.Groups})
		shown.Grants = lists.OrEmpty(rights.Granted())
	}
	return shown
}

type sessionsBody struct {
	Name string `json:"name" minLength:"1" maxLength:"200" doc:"The person, as the audit log names them"`
}

// SessionsEnded confirms the end of a person's sessions.
type SessionsEnded struct {
	Name string `json:"name"`
}

func keyPosition(k keys.Key) string {
	return k.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000000") + k.ID
}

// withSecret adds the secret of a key to the remedy if it may have replaced another one. Remedies are not logged.
func withSecret(err error, secret string) error {
	if _, unseen := errors.AsType[*keys.UnseenError](err); !unseen {
		return err
	}
	return problem.From(err).With("the old key may be revoked: keep " + secret + ", which is the new key if so, and try it. If it is refused, rotate again")
}

func (a *API) createKey(ctx context.Context, call *Call, in *struct {
	Body struct {
		Name      string    `json:"name" minLength:"1" maxLength:"100" doc:"Purpose of the key"`
		Role      string    `json:"role" doc:"viewer, operator, admin, worker or a role of the configuration"`
		JobTypes  []string  `json:"job_types,omitempty" doc:"Globs; none: all"`
		DAGs      []string  `json:"dags,omitempty" doc:"Globs; none: all"`
		Handlers  []string  `json:"handlers,omitempty" doc:"Globs of the handlers that it may use; none: all"`
		Worker    string    `json:"worker,omitempty" doc:"The only worker id that the key may act for"`
		ExpiresAt time.Time `json:"expires_at,omitzero"`
	}
},
) (CreatedKey, error) {
	body := in.Body
	wanted := keys.Key{Name: body.Name, Role: body.Role, JobTypes: body.JobTypes, DAGs: body.DAGs, Handlers: body.Handlers, Worker: body.Worker, ExpiresAt: body.ExpiresAt}
	if !slices.ContainsFunc(append(access.BuiltIn(), a.options.Roles...), func(r access.Role) bool { return r.Name == wanted.Role }) {
		return CreatedKey{}, problem.Newf(http.StatusUnprocessableEntity, "", "there is no role %q", wanted.Role)
	}
	if err := wanted.Validate(); err != nil {
		return CreatedKey{}, problem.New(http.StatusUnprocessableEntity, "", err.Error())
	}
	key, secret, err := keys.New(call.Client).Create(ctx, wanted, call.Name)
	return CreatedKey{key, secret}, err
}
