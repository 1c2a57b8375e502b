package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

const (
	loginCookie  = "roundsman_login"
	logInLasts   = 10 * time.Minute
	oidcWithin   = 10 * time.Second
	askAgainPast = 5 * time.Second
)

// OIDC logs people in with the code flow and PKCE, and accepts ID tokens as bearer tokens.
type OIDC struct {
	settings config.OIDC
	secret   string
	sessions *Sessions
	client   *http.Client

	mu       sync.Mutex
	provider *oidc.Provider
	keys     *issuerKeys
	verifier *oidc.IDTokenVerifier
	asked    time.Time
	fault    error
}

// NewOIDC prepares the log-in. A control plane starts without the provider.
func NewOIDC(settings config.OIDC, clientSecret string, sessions *Sessions, client *http.Client) *OIDC {
	client = cmp.Or(client, &http.Client{Timeout: oidcWithin})
	return &OIDC{settings: settings, secret: clientSecret, sessions: sessions, client: client}
}

func (o *OIDC) discovered() (*oidc.Provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider != nil {
		return o.provider, nil
	}
	if o.fault != nil && time.Since(o.asked) < askAgainPast {
		return nil, o.fault
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), o.client), o.settings.Issuer)
	o.asked, o.fault = time.Now(), err
	if err != nil {
		o.fault = fmt.Errorf("%w: %w", errUnreachable, err)
		return nil, o.fault
	}
	var about struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&about); err != nil {
		return nil, fmt.Errorf("read the provider's description: %w", err)
	}
	o.keys = newIssuerKeys(o.client, about.Keys, o.sessions.now)
	o.verifier = oidc.NewVerifier(o.settings.Issuer, o.keys, &oidc.Config{ClientID: o.settings.ClientID, SupportedSigningAlgs: signedBy(about.Algorithms), Now: o.sessions.now})
	o.provider = provider
	return provider, nil
}

func (o *OIDC) flow(provider *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: o.settings.ClientID, ClientSecret: o.secret, RedirectURL: o.settings.RedirectURL, Endpoint: provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"},
	}
}

// Verify checks an ID token: signature, issuer, audience, expiry and the person's groups.
func (o *OIDC) Verify(ctx context.Context, token string) (Person, error) {
	person, _, err := o.verify(ctx, token)
	return person, err
}

func (o *OIDC) verify(ctx context.Context, token string) (Person, string, error) {
	if !issuedBy(token, o.settings.Issuer) {
		return Person{}, "", errNotIssued
	}
	if _, err := o.discovered(); err != nil {
		return Person{}, "", err
	}
	verified, err := o.keys.verified(ctx, o.verifier, token)
	if err != nil {
		return Person{}, "", err
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return Person{}, "", err
	}
	person := Person{Name: verified.Subject}
	if name, ok := claims[o.settings.NameClaim].(string); ok && name != "" && (o.settings.NameClaim != emailClaim || mailVerified(claims)) {
		person.Name = name
	}
	listed, _ := claims[o.settings.GroupsClaim].([]any)
	for _, each := range listed {
		if group, ok := each.(string); ok {
			person.Groups = append(person.Groups, group)
		}
	}
	if !slices.ContainsFunc(person.Groups, func(group string) bool { return slices.Contains(o.settings.Groups, group) }) {
		return Person{}, "", fmt.Errorf("%s is in none of the groups that may log in", person.Name)
	}
	return person, verified.Nonce, nil
}

var errNotIssued = errors.New("this is no token of the log-in's issuer")

// issuedBy proves nothing, but refuses tokens of others without the provider's keys.
func issuedBy(token, issuer string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(payload, &claims) == nil && claims.Issuer == issuer
}

// emailClaim counts only if verified: some providers let people enter any address.
const emailClaim = "email"

// mailVerified reads email_verified, which some providers send as text.
func mailVerified(claims map[string]any) bool {
	switch verified := claims["email_verified"].(type) {
	case bool:
		return verified
	case string:
		return verified == "true"
	}
	return false
}

type begun struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Pages returns /auth/login and /auth/callback. back is the page after the log-in, relative to them.
func (o *OIDC) Pages(back string) map[string]http.Handler {
	return map[string]http.Handler{
		"GET /auth/login":    http.HandlerFunc(o.logIn),
		"GET /auth/callback": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.callback(w, r, back) }),
	}
}

func (o *OIDC) logIn(w http.ResponseWriter, r *http.Request) {
	provider, err := o.discovered()
	if err != nil {
		guard.Refuse(w, unreachable(err))
		return
	}
	start := begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	kept, err := o.sessions.close(purposeLogIn, start, logInLasts)
	if err != nil {
		guard.Refuse(w, problem.From(err))
		return
	}
	// The browser returns by a link from the provider's site, for which Strict would drop the cookie.
	setCookie(w, r, loginCookie, kept, logInLasts, http.SameSiteLaxMode)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, o.flow(provider).AuthCodeURL(start.State, oidc.Nonce(start.Nonce), oauth2.S256ChallengeOption(start.Verifier)), http.StatusFound)
}

func (o *OIDC) callback(w http.ResponseWriter, r *http.Request, back string) {
	w.Header().Set("Cache-Control", "no-store")
	setCookie(w, r, loginCookie, "", -1, http.SameSiteLaxMode)
	person, err := o.finish(r)
	if errors.Is(err, errUnreachable) {
		guard.Refuse(w, unreachable(err))
		return
	}
	if err != nil {
		guard.Refuse(w, problem.New(http.StatusUnauthorized, "LOGIN_FAILED", err.Error()).With("begin again: /auth/login"))
		return
	}
	kept, err := o.sessions.Close(person)
	if err != nil {
		guard.Refuse(w, problem.From(err))
		return
	}
	setCookie(w, r, CookieName, kept, SessionLasts, http.SameSiteStrictMode)
	api.Identified(r.Context(), api.Caller{Name: person.Name, Auth: ByOIDC})
	// A redirect would count as from the provider's site and lack Strict cookies.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	_, _ = fmt.Fprintf(w, "<!doctype html><meta http-equiv=refresh content=\"0; url=%s\"><title>Roundsman</title><a href=\"%s\">continue</a>\n", back, back)
}

func (o *OIDC) finish(r *http.Request) (Person, error) {
	cookie, err := r.Cookie(loginCookie)
	if err != nil {
		return Person{}, errors.New("this browser has begun no log-in")
	}
	var start begun
	if _, err := o.sessions.open(purposeLogIn, cookie.Value, &start); err != nil {
		return Person{}, errors.New("the log-in took too long or was begun elsewhere")
	}
	answer := r.URL.Query()
	if !same(answer.Get("state"), start.State) {
		return Person{}, errors.New("the answer belongs to another log-in (state)")
	}
	if refused := answer.Get("error"); refused != "" {
		return Person{}, fmt.Errorf("the identity provider refuses: %.100q", refused)
	}
	provider, err := o.discovered()
	if err != nil {
		return Person{}, err
	}
	ctx := oidc.ClientContext(r.Context(), o.client)
	token, err := o.flow(provider).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(start.Verifier))
	if _, refused := errors.AsType[*oauth2.RetrieveError](err); err != nil && !refused {
		return Person{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if err != nil {
		return Person{}, errors.New("the identity provider does not take the code")
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, errors.New("the identity provider sent no id_token")
	}
	person, nonce, err := o.verify(ctx, raw)
	if err != nil {
		return Person{}, err
	}
	if !same(nonce, start.Nonce) {
		return Person{}, errors.New("the token belongs to another log-in (nonce)")
	}
	return person, nil
}

func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

func setCookie(w http.ResponseWriter, r *http.Request, name, value string, lasts time.Duration, site http.SameSite) {
	cookie := &http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, Secure: guard.Secure(r.Context()), SameSite: site, MaxAge: int(lasts / time.Second),
	}
	if lasts < 0 {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}
