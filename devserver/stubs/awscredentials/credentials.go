// Package credentials stands in for the credentials of the AWS SDK, see package aws.
package credentials

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// StaticCredentialsProvider supplies no credentials.
type StaticCredentialsProvider struct{}

// NewStaticCredentialsProvider ignores the credentials.
func NewStaticCredentialsProvider(_, _, _ string) StaticCredentialsProvider {
	return StaticCredentialsProvider{}
}

// Retrieve returns aws.ErrLeftOut.
func (StaticCredentialsProvider) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, aws.ErrLeftOut
}
