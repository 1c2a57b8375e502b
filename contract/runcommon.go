package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// RunCommon is what all jobs of a run have in common. It travels to a worker once and is
// kept there by its id, see [ExecuteInput.Common].
type RunCommon struct {
	Params   json.RawMessage `json:"params,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Cluster  json.RawMessage `json:"cluster,omitempty"`
}

// MinCommonBytes is from when on it is worth an id.
const MinCommonBytes = 128

// Bytes is the size of all that is in common.
func (c RunCommon) Bytes() int { return len(c.Params) + len(c.Settings) + len(c.Cluster) }

// ID names the content: equal ids mean equal bytes.
func (c RunCommon) ID() string {
	h := sha256.New()
	for _, part := range [][]byte{c.Params, c.Settings, c.Cluster} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	const short = 16 // As many bytes as a UUID: no two contents of a namespace share it.
	return hex.EncodeToString(h.Sum(nil)[:short])
}

// QueryCommon takes the id of what a run's jobs have in common and answers a RunCommon.
// Workers ask a run that has sent it to them before they kept anything.
const QueryCommon = "common"
