package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/idempotency"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const keyHeader = "Idempotency-Key"

const mostKey = 200

// keyed is a request with a key, and the digest of its method, address and body.
type keyed struct{ key, digest string }

func (k keyed) id(caller string) string {
	sum := sha256.Sum256([]byte(caller + "\x00" + k.key))
	return hex.EncodeToString(sum[:16])
}

type keyedKey struct{}

// repeatable reads requests completely, under the server's read timeout.
func repeatable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || !under(Prefix, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		key := r.Header.Get(keyHeader)
		if len(key) > mostKey {
			guard.Refuse(w, problem.Newf(http.StatusUnprocessableEntity, "", "%s has %d characters; at most %d are taken", keyHeader, len(key), mostKey))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			guard.Refuse(w, unreadable(err))
			return
		}
		// A JSON decoder would replace invalid UTF-8.
		if !utf8.Valid(body) {
			guard.Refuse(w, problem.New(http.StatusUnprocessableEntity, "", "the body is not UTF-8"))
			return
		}
		if key != "" {
			sum := sha256.New()
			fmt.Fprintf(sum, "%s %s?%s\n", r.Method, r.URL.Path, r.URL.RawQuery)
			sum.Write(body)
			r = r.WithContext(context.WithValue(r.Context(), keyedKey{}, keyed{key, hex.EncodeToString(sum.Sum(nil))}))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func unreadable(err error) *problem.Problem {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return problem.Newf(http.StatusRequestEntityTooLarge, "", "the body has more than %d bytes", guard.MaxBody).
			With("send it in parts; `roundsman submit -f FILE` takes jobs of up to 256 MiB at once")
	}
	return problem.New(http.StatusBadRequest, "", "the body cannot be read: "+err.Error())
}

func (o Operation) takesKeys() bool { return o.Writes() && o.May.Verb != access.Work && !o.Bulk }

// claim records a request under its key. Each caller has its own keys.
func (a *API) claim(ctx context.Context, call *Call, in any) (context.Context, error) {
	asked, is := ctx.Value(keyedKey{}).(keyed)
	if !is || !call.operation.takesKeys() {
		return ctx, nil
	}
	version := ""
	if named, is := in.(Scoped); is && call.operation.Settings {
		var err error
		if version, err = jobtypes.Of(call.Client).SettingsVersion(ctx, named.Scope().JobType); err != nil {
			return ctx, err
		}
	}
	request, first, err := idempotency.Claim(ctx, call.Client, asked.id(call.Name), asked.digest, version)
	switch {
	case errors.Is(err, idempotency.ErrOther):
		return ctx, problem.Newf(http.StatusUnprocessableEntity, "KEY_REUSED", "another request was made with this %s", keyHeader).With("make a new key for each request")
	case err != nil:
		return ctx, err
	case !first && call.operation.Once:
		return ctx, problem.Newf(http.StatusConflict, "ALREADY_REQUESTED", "the same request was made at %s with the same %s", request.At.UTC().Format(http.TimeFormat), keyHeader).
			With("check whether it was done; its answer is not kept")
	case !first && request.Version != "" && request.Version != version: // As with If-Match.
		ctx = context.WithValue(ctx, lateKey{}, true)
	}
	call.Request = request.ID
	return starter.WithRequest(ctx, request), call.harmless(ctx, in)
}

// repeats reports whether the request has a record under its key.
func repeats(ctx context.Context, client *starter.Client) (bool, error) {
	asked, is := ctx.Value(keyedKey{}).(keyed)
	caller, known := CallerOf(ctx)
	if !is || !known || client == nil {
		return false, nil
	}
	return idempotency.Known(ctx, client, asked.id(caller.Name), asked.digest)
}

func describeKeys(o Operation, described *huma.Operation) {
	if !o.takesKeys() {
		return
	}
	most := mostKey
	described.Parameters = append(described.Parameters, &huma.Param{
		Name: keyHeader, In: "header", Description: "Makes a repetition harmless: requests with the same key are carried out once",
		Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most},
	})
}

// Part returns the context of one of several messages that a request sends under one name.
func (c *Call) Part(ctx context.Context, part int) context.Context {
	request, is := starter.RequestOf(ctx)
	if !is {
		return ctx
	}
	request.ID += "/" + strconv.Itoa(part)
	return starter.WithRequest(ctx, request)
}
