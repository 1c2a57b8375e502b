package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// Listing holds the parameters of every list.
type Listing struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
	Cursor string `query:"cursor" doc:"The next of the page before"`
}

// Page is the common part of a list's answer.
type Page struct {
	// Cursor of the next page; empty on the last page.
	Next string `json:"next,omitempty"`
	// Total counts the matches, if exact.
	Total int       `json:"total"`
	AsOf  time.Time `json:"as_of"`
}

const sum = 12

// cursors are positions in lists, signed so that clients cannot build them or depend on their form.
type cursors struct{ secret []byte }

func (c cursors) cursor(list, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.sign(list, position), position...))
}

func (c cursors) sign(list, position string) []byte {
	mac := hmac.New(sha256.New, c.secret)
	mac.Write([]byte(list + "\x00" + position))
	return mac.Sum(nil)[:sum]
}

func (c cursors) position(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < sum || !hmac.Equal(raw[:sum], c.sign(list, string(raw[sum:]))) {
		return "", problem.New(http.StatusBadRequest, problem.CodeBadCursor, "the cursor is none of this list").With("begin again without a cursor")
	}
	return string(raw[sum:]), nil
}

// resume reads the place of a cursor. Without a cursor it leaves to as it is.
func (c cursors) resume(list, cursor string, to any) error {
	written, err := c.position(list, cursor)
	if err != nil || written == "" {
		return err
	}
	if err := json.Unmarshal([]byte(written), to); err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadCursor, err.Error()).With("begin again without a cursor")
	}
	return nil
}

// next is the inverse of resume.
func (c cursors) next(list string, place any) (string, error) {
	written, err := json.Marshal(place)
	return c.cursor(list, string(written)), err
}

// Cut returns one page of a list that is sorted by name.
func Cut[T any](call *Call, list string, in Listing, all []T, name func(T) string) ([]T, Page, error) {
	page := Page{Total: len(all), AsOf: time.Now().UTC()}
	after, err := call.api.position(list, in.Cursor)
	if err != nil {
		return nil, page, err
	}
	kept := make([]T, 0, min(in.Limit, len(all)))
	for _, each := range all {
		if after != "" && name(each) <= after {
			continue
		}
		if len(kept) == in.Limit {
			page.Next = call.api.cursor(list, name(kept[len(kept)-1]))
			break
		}
		kept = append(kept, each)
	}
	return kept, page, nil
}
