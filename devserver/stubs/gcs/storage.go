// Package storage stands in for Google Cloud Storage, see docs/adr/0070-server-without-clouds.md.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// ErrLeftOut reports that this build of the server contains no Google Cloud SDK.
var ErrLeftOut = errors.New("this Temporal server is built without the Google Cloud SDK; use a Temporal cluster of your own")

// ScopeFullControl is the OAuth scope for full control of objects.
const ScopeFullControl = "https://www.googleapis.com/auth/devstorage.full_control"

// The types below have the fields and methods that the server's archiver uses. Each call returns ErrLeftOut.
type (
	Client         struct{}
	BucketHandle   struct{}
	ObjectHandle   struct{}
	ObjectIterator struct{}
	Reader         struct{}
	Writer         struct{}
	BucketAttrs    struct{}
	ObjectAttrs    struct{ Name string }
	Query          struct{ Prefix string }
)

// NewClient returns ErrLeftOut.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, ErrLeftOut }

// Bucket returns a handle that cannot be used.
func (*Client) Bucket(string) *BucketHandle { return &BucketHandle{} }

// Object returns a handle that cannot be used.
func (*BucketHandle) Object(string) *ObjectHandle { return &ObjectHandle{} }

// Objects returns an iterator that cannot be used.
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }

// Attrs returns ErrLeftOut.
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error) { return nil, ErrLeftOut }

// Attrs returns ErrLeftOut.
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error) { return nil, ErrLeftOut }

// NewReader returns ErrLeftOut.
func (*ObjectHandle) NewReader(context.Context) (*Reader, error) { return nil, ErrLeftOut }

// NewWriter returns a Writer that cannot be used.
func (*ObjectHandle) NewWriter(context.Context) *Writer { return &Writer{} }

// Next returns ErrLeftOut.
func (*ObjectIterator) Next() (*ObjectAttrs, error) { return nil, ErrLeftOut }

// Read returns ErrLeftOut.
func (*Reader) Read([]byte) (int, error) { return 0, ErrLeftOut }

// Close does nothing.
func (*Reader) Close() error { return nil }

// Write returns ErrLeftOut.
func (*Writer) Write([]byte) (int, error) { return 0, ErrLeftOut }

// Close returns ErrLeftOut: nothing was stored.
func (*Writer) Close() error { return ErrLeftOut }

// CloseWithError does nothing.
func (*Writer) CloseWithError(error) error { return nil }
