package auth

import (
	"encoding/json"
	"net/http"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

const purposeKey = "key"

const mostLogInBytes = 4 << 10

// Ways lists the ways to log in with a browser.
type Ways struct {
	OIDC bool `json:"oidc"`
	Keys bool `json:"keys"`
}

// Pages returns /auth/ways, /auth/key, /auth/logout, and the pages of the identity provider. /auth/key exchanges an
// API key for a session. The pages redirect to the path back.
func (a *Authenticator) Pages(back string) map[string]http.Handler {
	pages := map[string]http.Handler{}
	ways := Ways{OIDC: a.options.OIDC != nil, Keys: a.options.Keys != nil && a.options.Sessions != nil}
	if ways.OIDC {
		pages = a.options.OIDC.Pages(back)
	}
	pages["GET /auth/ways"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err := json.NewEncoder(w).Encode(ways); err != nil {
			return // The client has disconnected.
		}
	})
	if ways.Keys {
		pages["POST /auth/key"] = http.HandlerFunc(a.logInByKey)
	}
	pages["POST /auth/logout"] = http.HandlerFunc(a.logOut)
	return pages
}

// logOut ends the session, so that copies of its cookie become invalid too.
func (a *Authenticator) logOut(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, CookieName, "", -1, http.SameSiteStrictMode)
	cookie, err := r.Cookie(CookieName)
	if err == nil && a.options.Sessions != nil && a.options.Ended != nil {
		if opened, err := a.openSession(cookie.Value); err == nil {
			if err := a.options.Ended.EndSession(r.Context(), opened.Session); err != nil {
				guard.Refuse(w, unreadable(err).With("this browser is logged out; log out again to end copies of its session"))
				return
			}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// Each request checks the key again, so revoking it ends the session.
func (a *Authenticator) logInByKey(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Key string `json:"key"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostLogInBytes)).Decode(&in); err != nil {
		guard.Refuse(w, problem.New(http.StatusBadRequest, problem.CodeInvalid, `send {"key": "rmk_…"}`))
		return
	}
	caller, err := a.bearer(r.Context(), in.Key)
	if err == nil && caller.Auth != ByKey {
		err = unknown("this is no API key")
	}
	if err != nil {
		guard.Refuse(w, problem.From(err))
		return
	}
	kept, err := a.options.Sessions.close(purposeKey, in.Key, SessionLasts)
	if err != nil {
		guard.Refuse(w, problem.From(err))
		return
	}
	setCookie(w, r, CookieName, kept, SessionLasts, http.SameSiteStrictMode)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
