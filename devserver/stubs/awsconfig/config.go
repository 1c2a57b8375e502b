// Package config stands in for the configuration of the AWS SDK, see package aws.
package config

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Option is a setting that is ignored.
type Option struct{}

// EnvConfig holds settings of the environment. Its only source, NewEnvConfig, fails.
type EnvConfig struct{ Credentials aws.Credentials }

// LoadDefaultConfig returns aws.ErrLeftOut.
func LoadDefaultConfig(context.Context, ...Option) (aws.Config, error) {
	return aws.Config{}, aws.ErrLeftOut
}

// NewEnvConfig returns aws.ErrLeftOut.
func NewEnvConfig() (EnvConfig, error) { return EnvConfig{}, aws.ErrLeftOut }

// WithRegion ignores the region.
func WithRegion(string) Option { return Option{} }

// WithClientLogMode ignores the mode.
func WithClientLogMode(aws.ClientLogMode) Option { return Option{} }
