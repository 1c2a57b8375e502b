package mask_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/lib/mask"
)

func TestSecretsInASCIIAreMasked(t *testing.T) {
	t.Parallel()
	m := mask.New([]string{"pässwort😀1"})
	assert.NotContains(t, m.Text(`{"password": "p\u00e4sswort\ud83d\ude001"}`), "sswort")
}
