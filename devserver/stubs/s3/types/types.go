// Package types stands in for the types of the AWS SDK's S3 client, see package aws.
package types

// CommonPrefix is a folder in a list of objects.
type CommonPrefix struct{ Prefix *string }

// Object is an entry of a list of objects.
type Object struct{ Key *string }

// NoSuchBucket is never returned.
type NoSuchBucket struct{}

func (*NoSuchBucket) Error() string { return "no such bucket" }

// NoSuchKey is never returned.
type NoSuchKey struct{}

func (*NoSuchKey) Error() string { return "no such key" }
