package fakecluster

import (
	"context"

	"github.com/roundsman/roundsman/internal/seaweedfs/filerpb"
)

type filer struct {
	filerpb.UnimplementedSeaweedFilerServer
	cluster *Cluster
}

// KvGet implements the call of that name.
func (f *filer) KvGet(ctx context.Context, in *filerpb.KvGetRequest) (*filerpb.KvGetResponse, error) {
	return perform(ctx, f.cluster, "KvGet", "", &filerpb.KvGetResponse{}, func() (*filerpb.KvGetResponse, error) {
		f.cluster.mu.Lock()
		defer f.cluster.mu.Unlock()
		return &filerpb.KvGetResponse{Value: f.cluster.kv[string(in.GetKey())]}, nil
	})
}

// KvPut implements the call of that name.
func (f *filer) KvPut(ctx context.Context, in *filerpb.KvPutRequest) (*filerpb.KvPutResponse, error) {
	return perform(ctx, f.cluster, "KvPut", "", &filerpb.KvPutResponse{}, func() (*filerpb.KvPutResponse, error) {
		f.cluster.mu.Lock()
		defer f.cluster.mu.Unlock()
		f.cluster.kv[string(in.GetKey())] = in.GetValue()
		return &filerpb.KvPutResponse{}, nil
	})
}
