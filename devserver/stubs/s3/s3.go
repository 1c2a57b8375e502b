// Package s3 stands in for the S3 client of the AWS SDK, see package aws.
package s3

import (
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Client answers every call with aws.ErrLeftOut.
type Client struct{}

// Options are settings of a Client.
type Options struct {
	BaseEndpoint *string
	UsePathStyle bool
}

// NewFromConfig returns a Client that ignores its settings.
func NewFromConfig(aws.Config, ...func(*Options)) *Client { return &Client{} }

// Requests and responses have the fields that the server's archiver uses.
type (
	HeadBucketInput  struct{ Bucket *string }
	HeadBucketOutput struct{}
	HeadObjectInput  struct{ Bucket, Key *string }
	HeadObjectOutput struct{}
	PutObjectInput   struct {
		Bucket, Key *string
		Body        io.Reader
	}
	PutObjectOutput    struct{}
	GetObjectInput     struct{ Bucket, Key *string }
	GetObjectOutput    struct{ Body io.ReadCloser }
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, ContinuationToken *string
		MaxKeys                                      *int32
	}
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
)

// HeadBucket returns aws.ErrLeftOut.
func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...func(*Options)) (*HeadBucketOutput, error) {
	return nil, aws.ErrLeftOut
}

// HeadObject returns aws.ErrLeftOut.
func (*Client) HeadObject(context.Context, *HeadObjectInput, ...func(*Options)) (*HeadObjectOutput, error) {
	return nil, aws.ErrLeftOut
}

// PutObject returns aws.ErrLeftOut.
func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, aws.ErrLeftOut
}

// GetObject returns aws.ErrLeftOut.
func (*Client) GetObject(context.Context, *GetObjectInput, ...func(*Options)) (*GetObjectOutput, error) {
	return nil, aws.ErrLeftOut
}

// ListObjectsV2 returns aws.ErrLeftOut.
func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...func(*Options)) (*ListObjectsV2Output, error) {
	return nil, aws.ErrLeftOut
}
