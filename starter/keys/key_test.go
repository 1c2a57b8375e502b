package keys

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// One altered character makes an unknown key.
func TestAnAlteredKeyIsUnknown(t *testing.T) {
	t.Parallel()
	id, secret := newSecret()
	now := time.Now()
	all := []stored{{Key{ID: id, Name: "ci", Role: "viewer"}, sumOf(secret)}}
	found, err := match(all, secret, now)
	assert.NoError(t, err)
	assert.Equal(t, id, found.ID)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(secret)-1).Draw(t, "at")
		other := rapid.SampledFrom([]byte("abcXYZ019_-")).Draw(t, "other")
		altered := secret[:at] + string(other) + secret[at+1:]
		_, err := match(all, altered, now)
		assert.Equal(t, altered == secret, err == nil)
	})
}

func TestRevokedAndExpiredKeysAreUnknown(t *testing.T) {
	t.Parallel()
	id, secret := newSecret()
	now := time.Now()
	for name, row := range map[string]struct {
		key  Key
		good bool
	}{
		"good":    {Key{ID: id, ExpiresAt: now.Add(time.Second)}, true},
		"expired": {Key{ID: id, ExpiresAt: now}, false},
		"revoked": {Key{ID: id, RevokedAt: now}, false},
		"other":   {Key{ID: "0123456789"}, false},
	} {
		_, err := match([]stored{{row.key, sumOf(secret)}}, secret, now)
		assert.Equal(t, row.good, err == nil, name)
	}
}

// The stored sum does not contain the secret.
func TestSecretsAreLongAndNotKept(t *testing.T) {
	t.Parallel()
	id, secret := newSecret()
	parts := strings.SplitN(secret, "_", 3)
	assert.Equal(t, "rmk", parts[0])
	assert.Equal(t, id, parts[1])
	assert.Len(t, parts[2], 43, "32 random bytes")
	assert.NotContains(t, sumOf(secret), parts[2])
	for _, faulty := range []Key{{}, {Name: "x"}, {Name: "x", Role: "viewer", JobTypes: []string{"["}}, {Name: "a\nb", Role: "viewer"}} {
		assert.Error(t, faulty.Validate())
	}
}
