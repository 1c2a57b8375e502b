package realcluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

// Environment names the environment variable with the HTTP address of a master whose cluster the
// tests may change. The cluster needs four volume servers or more.
const Environment = "ROUNDSMAN_TEST_SEAWEEDFS"

// FilerEnvironment names the environment variable with the HTTP address of a filer of that cluster.
const FilerEnvironment = "ROUNDSMAN_TEST_SEAWEEDFS_FILER"

// TwinEnvironment names the environment variable with the HTTP address of the master of a second cluster,
// which is like the first one.
const TwinEnvironment = "ROUNDSMAN_TEST_SEAWEEDFS_TWIN"

// SecuredEnvironment names the environment variable with the HTTP address of the master of a cluster whose
// gRPC is mTLS, and CertificatesEnvironment that with a directory: ca.crt, client.crt and client.key for it.
// The certificates name no hosts, as in weed's own guide.
const (
	SecuredEnvironment      = "ROUNDSMAN_TEST_SEAWEEDFS_SECURED"
	CertificatesEnvironment = "ROUNDSMAN_TEST_SEAWEEDFS_CERTIFICATES"
)

// Filer returns the address of a filer. Without one the test is skipped.
func (c *Cluster) Filer() string {
	c.T.Helper()
	filer := os.Getenv(FilerEnvironment)
	if filer == "" {
		c.T.Skipf("%s names no filer", FilerEnvironment)
	}
	return filer
}

// Cluster is a real cluster with objects of one collection.
type Cluster struct {
	T          *testing.T
	Master     string
	Collection string
	Objects    map[string][sha256.Size]byte
	// TLS is nil for a cluster without it.
	TLS *weed.TLS
}

// New returns the cluster, with a collection of its own. Without a cluster the test is skipped.
func New(t *testing.T) *Cluster {
	t.Helper()
	return at(t, Environment)
}

// Twin returns the second cluster, with a collection of its own. Without one the test is skipped.
func Twin(t *testing.T) *Cluster {
	t.Helper()
	return at(t, TwinEnvironment)
}

// Secured returns the cluster with mTLS, with a collection of its own. Without one the test is skipped.
func Secured(t *testing.T) *Cluster {
	t.Helper()
	c, dir := at(t, SecuredEnvironment), os.Getenv(CertificatesEnvironment)
	c.TLS = &weed.TLS{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "client.crt"), Key: filepath.Join(dir, "client.key"), AnyName: true}
	return c
}

func at(t *testing.T, variable string) *Cluster {
	t.Helper()
	master := os.Getenv(variable)
	if master == "" {
		t.Skipf("%s names no real cluster", variable)
	}
	return &Cluster{T: t, Master: master, Collection: fmt.Sprintf("rt%d", time.Now().UnixNano()), Objects: map[string][sha256.Size]byte{}}
}

func (c *Cluster) get(url string, into any) {
	c.T.Helper()
	body, err := Fetch(c.T.Context(), http.MethodGet, url, nil)
	require.NoError(c.T, err)
	require.NoError(c.T, json.Unmarshal(body, into), "%s", body)
}

// Fetch sends one HTTP request. A status that is no success is an error.
func Fetch(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Content-Disposition", "attachment; filename=object") // else its id, of any length
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, content)
	}
	return content, err
}

// Grow makes volumes on one server. The master chooses the places of their replicas.
func (c *Cluster) Grow(count int, placement string, on plan.Server) {
	c.T.Helper()
	var made struct {
		Count int    `json:"count"`
		Error string `json:"error"`
	}
	c.get(fmt.Sprintf("http://%s/vol/grow?collection=%s&count=%d&replication=%s&dataCenter=%s&rack=%s&dataNode=%s",
		c.Master, c.Collection, count, placement, on.DataCenter, on.Rack, on.Address), &made)
	require.Empty(c.T, made.Error)
}

type assigned struct {
	Fid   string `json:"fid"`
	URL   string `json:"url"`
	Error string `json:"error"`
}

// Write stores objects of random sizes up to 2*size, and deletes every tenth.
func (c *Cluster) Write(count, size int, placement string) {
	c.T.Helper()
	for i := range count {
		var place assigned
		c.get(fmt.Sprintf("http://%s/dir/assign?collection=%s&replication=%s", c.Master, c.Collection, placement), &place)
		require.Empty(c.T, place.Error)
		content := make([]byte, 1+(i*7919)%(2*size))
		_, err := rand.Read(content)
		require.NoError(c.T, err)
		url := "http://" + place.URL + "/" + place.Fid
		_, err = Fetch(c.T.Context(), http.MethodPost, url, content)
		require.NoError(c.T, err)
		if i%10 == 9 {
			_, err = Fetch(c.T.Context(), http.MethodDelete, url, nil)
			require.NoError(c.T, err)
			continue
		}
		c.Objects[place.Fid] = sha256.Sum256(content)
	}
}

// Put stores an object under an id of the caller's. The stored needle does not contain it.
func (c *Cluster) Put(fid string, content []byte) {
	c.T.Helper()
	_, err := Fetch(c.T.Context(), http.MethodPost, "http://"+c.Locate(fid)[0]+"/"+fid, content)
	require.NoError(c.T, err)
	c.Objects[fid] = sha256.Sum256(content)
}

// Remove deletes an object.
func (c *Cluster) Remove(fid string) {
	c.T.Helper()
	_, err := Fetch(c.T.Context(), http.MethodDelete, "http://"+c.Locate(fid)[0]+"/"+fid, nil)
	require.NoError(c.T, err)
	delete(c.Objects, fid)
}

// Locate lists the servers that the master names for the volume of an object.
func (c *Cluster) Locate(fid string) (servers []string) {
	c.T.Helper()
	volume, _, _ := strings.Cut(fid, ",")
	var found struct {
		Locations []struct {
			URL string `json:"url"`
		} `json:"locations"`
	}
	c.get(fmt.Sprintf("http://%s/dir/lookup?volumeId=%s", c.Master, volume), &found)
	for _, location := range found.Locations {
		servers = append(servers, location.URL)
	}
	require.NotEmpty(c.T, servers, "volume %s", volume)
	return servers
}

// Verify reads every object from every server that the master names for its volume.
func (c *Cluster) Verify() {
	c.T.Helper()
	servers := map[string][]string{}
	for fid, sum := range c.Objects {
		volume, _, _ := strings.Cut(fid, ",")
		if servers[volume] == nil {
			servers[volume] = c.Locate(fid)
		}
		for _, server := range servers[volume] {
			content, err := Fetch(c.T.Context(), http.MethodGet, "http://"+server+"/"+fid, nil)
			require.NoError(c.T, err)
			require.Equal(c.T, sum, sha256.Sum256(content), "%s on %s", fid, server)
		}
	}
	c.onDisk(slices.Collect(maps.Keys(servers)))
	c.T.Logf("%d objects of %d volumes are what was written", len(c.Objects), len(servers))
}

// Dial returns a client of the cluster.
func (c *Cluster) Dial() *weed.Cluster {
	c.T.Helper()
	cluster, err := weed.Dial(weed.Spec{Masters: []string{c.Master}, TLS: c.TLS})
	require.NoError(c.T, err)
	c.T.Cleanup(func() { _ = cluster.Close() })
	return cluster
}

// onDisk fails the test if a server only holds the deleted files of a volume open.
func (c *Cluster) onDisk(volumes []string) {
	c.T.Helper()
	cluster := c.Dial()
	for _, server := range c.Servers() {
		for _, volume := range volumes {
			id, err := strconv.ParseUint(volume, 10, 32)
			require.NoError(c.T, err)
			replica := cluster.Replica(c.T.Context(), server.Address, uint32(id))
			require.NotEqual(c.T, steps.Unknown, replica.Presence, "volume %s on %s: %s", volume, server.Address, replica.Why)
		}
	}
}

// Heartbeat waits until the master has received every change.
func (c *Cluster) Heartbeat() {
	timer := time.NewTimer(6 * time.Second)
	defer timer.Stop()
	<-timer.C
}

// Servers lists the volume servers, at least four.
func (c *Cluster) Servers() []plan.Server {
	c.T.Helper()
	topology, err := c.Dial().Topology(c.T.Context())
	require.NoError(c.T, err)
	require.GreaterOrEqual(c.T, len(topology.Servers), 4)
	return topology.Servers
}
