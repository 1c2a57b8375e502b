package rpc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

func TestAKeywordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		written := rpc.KeywordAttribute("RoundsmanJobType", value)
		assert.Equal(t, value, rpc.Keyword(written, "RoundsmanJobType"))
		assert.Empty(t, rpc.Keyword(written, "RoundsmanOutcome"))
	})
	payload := rpc.KeywordAttribute("a", "b").GetIndexedFields()["a"]
	assert.Equal(t, map[string]string{"encoding": "json/plain", "type": "Keyword"}, map[string]string{
		"encoding": string(payload.GetMetadata()["encoding"]), "type": string(payload.GetMetadata()["type"]),
	})
}

func TestAKeywordOfAnotherTypeIsEmpty(t *testing.T) {
	t.Parallel()
	number, err := converter.GetDefaultDataConverter().ToPayload(7)
	require.NoError(t, err)
	for name, attributes := range map[string]*commonpb.SearchAttributes{
		"no attributes": nil,
		"a number":      {IndexedFields: map[string]*commonpb.Payload{"a": number}},
		"no encoding":   {IndexedFields: map[string]*commonpb.Payload{"a": {Data: []byte(`"b"`)}}},
	} {
		assert.Empty(t, rpc.Keyword(attributes, "a"), name)
	}
}

// The zero time of a missing stamp is not 1970.
func TestTheTimeOfAMissingStamp(t *testing.T) {
	t.Parallel()
	assert.True(t, rpc.Time(nil).IsZero())
	at := time.Date(2026, 11, 29, 6, 0, 0, 7, time.UTC)
	assert.Equal(t, at, rpc.Time(timestamppb.New(at)))
}
