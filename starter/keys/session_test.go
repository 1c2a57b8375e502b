package keys

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The list of ended sessions is bounded, and repeated log-outs end no session of another person.
func TestManyLogOutsEndNoSessionOfAnother(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	held := record{Ended: []Session{{ID: "desk", Name: "ann", At: now}}}
	for i := range 4 * mostEnded {
		ended := Session{ID: fmt.Sprint("x", i), Name: "mallory", At: now.Add(time.Duration(i) * time.Millisecond)}
		held.Ended = append(kept(held.Ended, ended.At), ended)
		assert.LessOrEqual(t, len(held.Ended), mostEnded)
	}
	assert.True(t, held.ended(Session{ID: "desk", Name: "ann", At: now.Add(-time.Hour)}))
	assert.False(t, held.ended(Session{ID: "phone", Name: "ann", At: now.Add(-time.Hour)}), "ann's other session")
	for i := range 4 * mostEnded {
		assert.True(t, held.ended(Session{ID: fmt.Sprint("x", i), Name: "mallory", At: now.Add(-time.Minute)}))
	}
	held.Ended = kept(held.Ended, now.Add(sessionLasts+time.Hour))
	assert.Empty(t, held.Ended, "entries that outlived their sessions are dropped")
}

// All persons of a large company log out: no other session of theirs ends.
func TestLogOutsOfManyPersonsEndNoOtherSession(t *testing.T) {
	t.Parallel()
	now, held := time.Now().UTC(), record{}
	const persons = mostEnded + 100
	for i := range persons {
		ended := Session{ID: fmt.Sprint("desk", i), Name: fmt.Sprint("p", i), At: now}
		held.Ended = append(kept(held.Ended, now), ended)
	}
	for i := range persons {
		name := fmt.Sprint("p", i)
		assert.True(t, held.ended(Session{ID: fmt.Sprint("desk", i), Name: name, At: now.Add(-time.Hour)}), name)
		assert.False(t, held.ended(Session{ID: "phone", Name: name, At: now.Add(-time.Hour)}), name)
	}
	assert.Len(t, held.Ended, persons)
}

// A session by key has the name of its key, so one entry covers all sessions of that key.
func TestSessionsByKeyHaveTheNameOfTheirKey(t *testing.T) {
	t.Parallel()
	id, secret := newSecret()
	assert.Equal(t, Prefix+id, NameOf(secret))
}
