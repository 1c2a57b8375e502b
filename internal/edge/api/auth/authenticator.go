package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter/keys"
)

// Means of authentication.
const (
	ByKey         = "key"
	ByOIDC        = "oidc"
	BySession     = "session"
	ByCertificate = "certificate"
	ByWorker      = "worker"
)

// Options configure an Authenticator. A nil field disables its means.
type Options struct {
	// Policy binds roles to subjects, groups, keys and certificates.
	Policy access.Policy
	Keys   interface {
		Check(ctx context.Context, secret string) (keys.Key, error)
	}
	// Issued is set without log-ins by key, too: a remote worker may have registered by a key elsewhere.
	Issued interface {
		Valid(ctx context.Context, id string) (bool, error)
	}
	// Ended holds the sessions that were ended early.
	Ended Ended
	// Workers opens the token of a remote worker. Its error is a *problem.Problem.
	Workers func(token string) (RemoteWorker, error)
	// OIDC checks tokens and log-ins, Sessions the cookies of log-ins.
	OIDC     *OIDC
	Sessions *Sessions
	// Certificates accepts client certificates that the listener has verified.
	Certificates bool
	// Open is the caller without a log-in; empty for none.
	Open string
}

// Ended holds the sessions ended by a log-out or an administrator.
type Ended interface {
	Ended(ctx context.Context, session keys.Session) (bool, error)
	EndSession(ctx context.Context, session keys.Session) error
}

// RemoteWorker is the content of a worker's token: its id, and the API key that registered it, if any.
type RemoteWorker struct{ ID, Key string }

// WorkerPrefix is the prefix of remote workers' tokens.
const WorkerPrefix = "rmw_"

// New returns an authenticator.
func New(options Options) *Authenticator { return &Authenticator{options} }

// Authenticator implements api.Authenticator.
type Authenticator struct{ options Options }

// Authenticate implements api.Authenticator.
func (a *Authenticator) Authenticate(r *http.Request) (api.Caller, error) {
	if written := r.Header.Get("Authorization"); written != "" {
		scheme, token, _ := strings.Cut(written, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return api.Caller{}, unknown("the Authorization header must be `Bearer KEY`")
		}
		return a.bearer(r.Context(), token)
	}
	if cookie, err := r.Cookie(CookieName); err == nil && a.options.Sessions != nil {
		return a.session(r.Context(), cookie.Value)
	}
	if a.options.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		name := r.TLS.PeerCertificates[0].Subject.CommonName
		return a.known(api.Caller{Name: name, Auth: ByCertificate}, access.Subject{Certificate: name})
	}
	if a.options.Open != "" {
		return api.Caller{Name: a.options.Open, Auth: api.AuthNone, Rights: access.All()}, nil
	}
	return api.Caller{}, unknown("not logged in")
}

func (a *Authenticator) bearer(ctx context.Context, token string) (api.Caller, error) {
	switch {
	case strings.HasPrefix(token, keys.Prefix) && a.options.Keys != nil:
		key, err := a.options.Keys.Check(ctx, token)
		if errors.Is(err, keys.ErrUnknown) {
			return api.Caller{}, unknown(err.Error())
		}
		if err != nil {
			return api.Caller{}, unreadable(err)
		}
		rights := a.options.Policy.Grant(key.Role, key.JobTypes, key.DAGs, key.Handlers...).And(a.options.Policy.Rights(access.Subject{Key: key.ID}))
		return api.Caller{Name: key.Name, Auth: ByKey, Key: key.ID, Worker: key.Worker, Rights: rights}, nil
	case strings.HasPrefix(token, WorkerPrefix) && a.options.Workers != nil:
		return a.worker(ctx, token)
	case strings.HasPrefix(token, keys.Prefix), strings.HasPrefix(token, WorkerPrefix), a.options.OIDC == nil:
		return api.Caller{}, unknown("this server takes no such token")
	}
	person, err := a.options.OIDC.Verify(ctx, token)
	if errors.Is(err, errUnreachable) {
		return api.Caller{}, unreachable(err)
	}
	if err != nil {
		return api.Caller{}, unknown("the token is not taken: " + err.Error())
	}
	return a.known(api.Caller{Name: person.Name, Auth: ByOIDC}, access.Subject{Name: person.Name, Groups: person.Groups})
}

// worker authenticates a remote worker by its token while the key that registered it is valid.
func (a *Authenticator) worker(ctx context.Context, token string) (api.Caller, error) {
	found, err := a.options.Workers(token)
	if err != nil {
		return api.Caller{}, err
	}
	if found.Key != "" && a.options.Issued != nil {
		valid, err := a.options.Issued.Valid(ctx, found.Key)
		if err != nil {
			return api.Caller{}, unreadable(err)
		}
		if !valid {
			return api.Caller{}, unknown("the key that registered worker " + found.ID + " is revoked or expired")
		}
	}
	return api.Caller{Name: "worker:" + found.ID, Auth: ByWorker, Key: found.Key, Worker: found.ID, Rights: a.options.Policy.Grant(access.Worker, nil, nil)}, nil
}

func unreadable(err error) *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, problem.CodeUnavailable, "the keys cannot be read: "+err.Error())
}

func (a *Authenticator) session(ctx context.Context, text string) (api.Caller, error) {
	opened, err := a.openSession(text)
	if err != nil {
		return api.Caller{}, unknown(err.Error()).With("log in again: /auth/login")
	}
	if a.options.Ended != nil {
		over, err := a.options.Ended.Ended(ctx, opened.Session)
		if err != nil {
			return api.Caller{}, unreadable(err)
		}
		if over {
			return api.Caller{}, unknown("the session was ended").With("log in again: /auth/login")
		}
	}
	if opened.key != "" {
		return a.bearer(ctx, opened.key)
	}
	return a.known(api.Caller{Name: opened.person.Name, Auth: BySession}, access.Subject{Name: opened.person.Name, Groups: opened.person.Groups})
}

type session struct {
	keys.Session
	key    string
	person Person
}

func (a *Authenticator) openSession(text string) (session, error) {
	var opened session
	read, err := a.options.Sessions.open(purposeKey, text, &opened.key)
	if err != nil {
		opened.key = ""
		read, err = a.options.Sessions.open(purposeSession, text, &opened.person)
	}
	opened.Session = keys.Session{ID: read.ID, Name: opened.person.Name, At: read.At}
	if opened.key != "" {
		opened.Name = keys.NameOf(opened.key)
	}
	return opened, err
}

func (a *Authenticator) known(caller api.Caller, subject access.Subject) (api.Caller, error) {
	caller.Rights = a.options.Policy.Rights(subject)
	return caller, nil
}

func unknown(why string) *problem.Problem {
	return problem.New(http.StatusUnauthorized, problem.CodeUnauthenticated, why).
		With("send `Authorization: Bearer KEY`; `roundsman keys create` makes a key")
}
