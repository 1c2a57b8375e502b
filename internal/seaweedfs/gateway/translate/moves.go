package translate

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// work is a job or the proposal of a job.
type work interface {
	GetJobType() string
	GetParameters() map[string]*pb.ConfigValue
}

// Moves returns the moves of volume_balance work; none for other job types.
func Moves(job work) []*pb.BalanceMove {
	if job.GetJobType() != "volume_balance" {
		return nil
	}
	parameters := job.GetParameters()
	var batch pb.BalanceTask
	if err := proto.Unmarshal(parameters["task_params_pb"].GetBytesValue(), &batch); err == nil && len(batch.GetBalance().GetMoves()) > 0 {
		return batch.GetBalance().GetMoves()
	}
	one := &pb.BalanceMove{
		VolumeId:   uint32(parameters["volume_id"].GetInt64Value()), //nolint:gosec // an id of a volume
		SourceNode: parameters["source_server"].GetStringValue(), TargetNode: parameters["target_server"].GetStringValue(),
	}
	if one.GetVolumeId() == 0 || one.GetSourceNode() == "" {
		return nil
	}
	return []*pb.BalanceMove{one}
}
