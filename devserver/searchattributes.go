package devserver

import enumspb "go.temporal.io/api/enums/v1"

const (
	// SearchAttributeJobType finds workflows by the job type they serve.
	SearchAttributeJobType = "RoundsmanJobType"
	// SearchAttributeOutcome finds job groups by how they ended.
	SearchAttributeOutcome = "RoundsmanOutcome"
)

func searchAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		SearchAttributeJobType: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		SearchAttributeOutcome: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	}
}
