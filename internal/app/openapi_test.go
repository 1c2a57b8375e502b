package app_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/app"
)

const documentFile = "../../docs/openapi.yaml"

// docs/openapi.yaml describes the operations. ROUNDSMAN_UPDATE=1 writes it.
func TestTheDocumentIsWhatTheOperationsAre(t *testing.T) {
	t.Parallel()
	made, err := app.APIDocument(false)
	require.NoError(t, err)
	assert.NotContains(t, string(made), `"null"`, "a list is [], an object {}, and what is not known is left out")
	if os.Getenv("ROUNDSMAN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(documentFile, made, 0o600))
	}
	written, err := os.ReadFile(documentFile)
	require.NoError(t, err)
	assert.Equal(t, string(written), string(made), "run ROUNDSMAN_UPDATE=1 go test ./internal/app -run TestTheDocument")
}
