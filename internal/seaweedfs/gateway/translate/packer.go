package translate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// ProposalKey is the key of the worker's own proposal in a proposal's params.
const ProposalKey = "weed"

const (
	// maxProposalBytes bounds a proposal before compression.
	maxProposalBytes = 1 << 20
	// compressAbove is the size from which compression pays.
	compressAbove = 512
)

const (
	packedPlain = 'p'
	packedZstd  = 'z'
)

// Packer encodes whole proposals, with unknown fields, in params as base64. It is safe for concurrent use.
type Packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewPacker returns a packer.
func NewPacker() (*Packer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<17), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("compressor: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxProposalBytes))
	if err != nil {
		return nil, fmt.Errorf("decompressor: %w", err)
	}
	return &Packer{encoder: encoder, decoder: decoder}, nil
}

// Pack returns the params of a proposal.
func (p *Packer) Pack(proposal *pb.JobProposal) (json.RawMessage, error) {
	if size := proto.Size(proposal); size > maxProposalBytes {
		return nil, fmt.Errorf("the proposal has %d bytes, the limit is %d: let the worker propose smaller batches", size, maxProposalBytes)
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(proposal)
	if err != nil {
		return nil, err
	}
	packed := append([]byte{packedPlain}, raw...)
	if len(raw) > compressAbove {
		if small := p.encoder.EncodeAll(raw, []byte{packedZstd}); len(small) < len(packed) {
			packed = small
		}
	}
	return json.Marshal(map[string]string{ProposalKey: base64.StdEncoding.EncodeToString(packed)})
}

var errNoProposal = errors.New("the job has no parameters of a weed worker: only findings of its own detection can be executed, run `roundsman start`")

// Unpack returns the proposal in the params of a job.
func (p *Packer) Unpack(params json.RawMessage) (*pb.JobProposal, error) {
	var carried struct {
		Packed string `json:"weed"`
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &carried); err != nil {
			return nil, fmt.Errorf("params: %w", err)
		}
	}
	packed, err := base64.StdEncoding.DecodeString(carried.Packed)
	if err != nil {
		return nil, fmt.Errorf("params.%s: %w", ProposalKey, err)
	}
	if len(packed) == 0 {
		return nil, errNoProposal
	}
	raw := packed[1:]
	switch packed[0] {
	case packedPlain:
	case packedZstd:
		if raw, err = p.decoder.DecodeAll(raw, nil); err != nil {
			return nil, fmt.Errorf("params.%s: %w", ProposalKey, err)
		}
	default:
		return nil, fmt.Errorf("params.%s: unknown form %q", ProposalKey, packed[0])
	}
	proposal := &pb.JobProposal{}
	if err := proto.Unmarshal(raw, proposal); err != nil {
		return nil, fmt.Errorf("params.%s: %w", ProposalKey, err)
	}
	return proposal, nil
}
