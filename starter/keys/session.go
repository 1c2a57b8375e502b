package keys

import (
	"context"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// Beyond mostEnded, one entry ends all sessions of the person with most entries, so no session of another ends. More
// persons than that keep their entries.
const mostEnded = 500

// sessionLasts is longer than any session, so that an entry outlives its session.
const sessionLasts = 13 * time.Hour

// Session is one session by its id, or all sessions of a person that began until At.
type Session struct {
	ID   string    `json:"id,omitempty"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

func (r *record) ended(session Session) bool {
	return slices.ContainsFunc(r.Ended, func(e Session) bool {
		return e.ID != "" && e.ID == session.ID || e.ID == "" && e.Name == session.Name && !session.At.After(e.At)
	})
}

// EndSession ends one session everywhere within 5 seconds.
func (s *Store) EndSession(ctx context.Context, session Session) error {
	return s.end(ctx, Session{ID: session.ID, Name: session.Name, At: time.Now().UTC()})
}

// EndSessionsOf ends all sessions of a person within 5 seconds: a session keeps the groups of its log-in.
func (s *Store) EndSessionsOf(ctx context.Context, name string) error {
	if name == "" || len(name) > 200 {
		return starter.Invalidf("the name of the person has %d characters: give 1 to 200, as the audit log has it", len(name))
	}
	err := s.end(ctx, Session{Name: name, At: time.Now().UTC()})
	if err == nil {
		s.client.Audit().Record(ctx, contract.AuditEntry{Action: "sessions.end", Object: "sessions/" + name})
	}
	return err
}

func (s *Store) end(ctx context.Context, ended Session) error {
	return s.change(ctx, func(held *record) error {
		held.Ended = append(kept(held.Ended, ended.At), ended)
		return nil
	}, func(held record) bool { return held.ended(ended) })
}

func kept(list []Session, now time.Time) []Session {
	list = slices.DeleteFunc(slices.Clone(list), func(e Session) bool { return now.Sub(e.At) > sessionLasts })
	if len(list) < mostEnded {
		return list
	}
	entries, most := map[string]int{}, list[0].Name
	for _, each := range list {
		entries[each.Name]++
	}
	for _, each := range list {
		if entries[each.Name] > entries[most] {
			most = each.Name
		}
	}
	if entries[most] == 1 {
		return list // One entry in place of one would only end the person's other sessions.
	}
	one := Session{Name: most}
	list = slices.DeleteFunc(list, func(e Session) bool {
		if e.Name == most && e.At.After(one.At) {
			one.At = e.At
		}
		return e.Name == most
	})
	return append(list, one)
}
