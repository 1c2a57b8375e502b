package api

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/starter/keys"
)

func TestTheSecretOfAKeyInDoubtIsToldAndNotLogged(t *testing.T) {
	t.Parallel()
	err := withSecret(&keys.UnseenError{Err: errors.New("no answer")}, "rmk_new")
	assert.NotContains(t, err.Error(), "rmk_new", "this is logged")
	assert.Contains(t, problem.From(err).Remedy, "rmk_new")
	plain := errors.New("refused")
	assert.Equal(t, plain, withSecret(plain, ""))
}
