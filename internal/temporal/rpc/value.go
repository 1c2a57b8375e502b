package rpc

import (
	"encoding/json"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Time converts a timestamp; a missing one is the zero time.
func Time(stamp *timestamppb.Timestamp) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	return stamp.AsTime()
}

// Keyword reads a search attribute of type Keyword, "" without one.
func Keyword(attributes *commonpb.SearchAttributes, name string) string {
	payload := attributes.GetIndexedFields()[name]
	value := ""
	if payload == nil || converter.GetDefaultDataConverter().FromPayload(payload, &value) != nil {
		return ""
	}
	return value
}

// KeywordAttribute encodes a Keyword like the SDK: search attributes bypass the data converter.
func KeywordAttribute(name, value string) *commonpb.SearchAttributes {
	data, _ := json.Marshal(value) //nolint:errchkjson // It never fails for a string.
	return &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{name: {
		Metadata: map[string][]byte{
			converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON),
			"type":                     []byte("Keyword"),
		},
		Data: data,
	}}}
}
