package scrub

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// Bucket files maps absolute paths to records, bucket meta holds the rest.
var (
	filesBucket = []byte("files")    //nolint:gochecknoglobals // constant
	metaBucket  = []byte("meta")     //nolint:gochecknoglobals // constant
	versionKey  = []byte("version")  //nolint:gochecknoglobals // constant
	baselineKey = []byte("baseline") //nolint:gochecknoglobals // constant
)

const storeVersion = "1"

func prepare(db *bbolt.DB) error {
	err := db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			return errNew
		}
		if version := meta.Get(versionKey); string(version) != storeVersion {
			return fmt.Errorf("baseline %s has format %q and this Roundsman reads %q: use the version that wrote it, or move the file away", db.Path(), version, storeVersion)
		}
		return nil
	})
	if errors.Is(err, errNew) {
		err = db.Update(create)
	}
	if err != nil {
		_ = db.Close()
	}
	return err
}

var errNew = errors.New("a new baseline file")

func create(tx *bbolt.Tx) error {
	if _, err := tx.CreateBucketIfNotExists(filesBucket); err != nil {
		return err
	}
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	if err := meta.Put(baselineKey, []byte(rand.Text())); err != nil {
		return err
	}
	return meta.Put(versionKey, []byte(storeVersion))
}

type store struct{ lease *lease }

func (s store) id(ctx context.Context) (string, error) {
	var id string
	err := s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			id = string(tx.Bucket(metaBucket).Get(baselineKey))
			return nil
		})
	})
	return id, err
}

func (s store) lookup(ctx context.Context, paths ...string) ([]*record, error) {
	records := make([]*record, len(paths))
	err := s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			files := tx.Bucket(filesBucket)
			for i, path := range paths {
				data := files.Get([]byte(path))
				if data == nil {
					continue
				}
				decoded, err := decodeRecord(data)
				if err != nil {
					return fmt.Errorf("baseline %s, %q: %w", db.Path(), path, err)
				}
				records[i] = &decoded
			}
			return nil
		})
	})
	return records, err
}

// Jobs that end at the same time share one commit, which is on disk when put returns.
func (s store) put(ctx context.Context, path string, r record) error {
	return s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.Batch(func(tx *bbolt.Tx) error {
			return tx.Bucket(filesBucket).Put([]byte(path), r.encode())
		})
	})
}

// remember and recall store short notes between detections, such as the end of the last walk.
func (s store) remember(ctx context.Context, key, value string) error {
	return s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.Batch(func(tx *bbolt.Tx) error {
			if value == "" {
				return tx.Bucket(metaBucket).Delete([]byte(key))
			}
			return tx.Bucket(metaBucket).Put([]byte(key), []byte(value))
		})
	})
}

func (s store) recall(ctx context.Context, key string) (string, error) {
	var value string
	err := s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			value = string(tx.Bucket(metaBucket).Get([]byte(key)))
			return nil
		})
	})
	return value, err
}

type kept struct {
	path string
	record
}

// after returns up to limit records below the directory prefix (with a final separator) after from, in order of path.
func (s store) after(ctx context.Context, prefix, from string, limit int) ([]kept, error) {
	var found []kept
	err := s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			cursor := tx.Bucket(filesBucket).Cursor()
			start := []byte(max(prefix, from))
			for key, data := cursor.Seek(start); key != nil && bytes.HasPrefix(key, []byte(prefix)) && len(found) < limit; key, data = cursor.Next() {
				if string(key) == from {
					continue
				}
				decoded, err := decodeRecord(data)
				if err != nil {
					return fmt.Errorf("baseline %s, %q: %w", db.Path(), key, err)
				}
				found = append(found, kept{string(key), decoded})
			}
			return nil
		})
	})
	return found, err
}

type revision struct {
	kept
	new *record
}

// revise skips a record that has changed since it was read: a verification is newer.
func (s store) revise(ctx context.Context, revisions []revision) error {
	if len(revisions) == 0 {
		return nil
	}
	return s.lease.use(ctx, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			files := tx.Bucket(filesBucket)
			for _, revision := range revisions {
				path := []byte(revision.path)
				if !bytes.Equal(files.Get(path), revision.encode()) {
					continue
				}
				var err error
				if revision.new == nil {
					err = files.Delete(path)
				} else {
					err = files.Put(path, revision.new.encode())
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}
