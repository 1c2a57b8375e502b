package devserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	// healthBudget: new search attributes in an old namespace take some ten seconds, until the server's next refresh.
	healthBudget    = 60 * time.Second
	healthPoll      = 20 * time.Millisecond
	healthCall      = 5 * time.Second
	frontendService = "temporal.api.workflowservice.v1.WorkflowService"
)

type checker struct {
	conn      *grpc.ClientConn
	http      *http.Client
	namespace string
	// uiURL is empty without a Web UI.
	uiURL string
}

func awaitHealthy(ctx context.Context, p ports, namespace, uiURL string) error {
	conn, err := grpc.NewClient(hostPort(p.frontend), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the started server: %w", err)
	}
	defer func() { _ = conn.Close() }()
	c := checker{conn: conn, http: &http.Client{}, namespace: namespace, uiURL: uiURL}
	ctx, cancel := context.WithTimeout(ctx, healthBudget)
	defer cancel()
	for _, check := range []func(context.Context) error{
		c.serving, c.namespaceUsable, c.addSearchAttributes, c.searchAttributesUsable, c.uiAnswers,
	} {
		if err := retry(ctx, check); err != nil {
			return fmt.Errorf("the server did not become healthy: %w", err)
		}
	}
	return nil
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func retry(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(healthPoll)
	defer tick.Stop()
	for {
		callCtx, cancel := context.WithTimeout(ctx, healthCall)
		err := check(callCtx)
		cancel()
		var permanent permanentError
		if err == nil || errors.As(err, &permanent) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func (c checker) serving(ctx context.Context) error {
	resp, err := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: frontendService})
	if err != nil {
		return fmt.Errorf("health of the frontend: %w", err)
	}
	if resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("health of the frontend: %s", resp.GetStatus())
	}
	return nil
}

func (c checker) namespaceUsable(ctx context.Context) error {
	_, err := workflowservice.NewWorkflowServiceClient(c.conn).
		DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if err != nil {
		return fmt.Errorf("namespace %s: %w", c.namespace, err)
	}
	return nil
}

// addSearchAttributes adds those that the namespace lacks: another server may have made it.
func (c checker) addSearchAttributes(ctx context.Context) error {
	operator := operatorservice.NewOperatorServiceClient(c.conn)
	resp, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := searchAttributes()
	for name, want := range searchAttributes() {
		got, exists := resp.GetCustomAttributes()[name]
		if exists && got != want {
			return permanentError{fmt.Errorf("search attribute %s of namespace %s is of type %s and must be %s: use another --namespace",
				name, c.namespace, got, want)}
		}
		if exists {
			delete(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: c.namespace, SearchAttributes: missing,
	})
	if status.Code(err) == codes.InvalidArgument {
		return permanentError{fmt.Errorf("namespace %s has no room for search attributes: %w; use another --namespace", c.namespace, err)}
	}
	if err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}

// Listing the attributes is not enough: the query engine has them later.
func (c checker) searchAttributesUsable(ctx context.Context) error {
	for name := range searchAttributes() {
		_, err := workflowservice.NewWorkflowServiceClient(c.conn).
			CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
				Namespace: c.namespace, Query: name + ` = "none"`,
			})
		if err != nil {
			return fmt.Errorf("search attribute %s: %w", name, err)
		}
	}
	return nil
}

func (c checker) uiAnswers(ctx context.Context) error {
	if c.uiURL == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.uiURL+"/healthz", http.NoBody)
	if err != nil {
		return fmt.Errorf("web UI: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("web UI: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("web UI: %s", resp.Status)
	}
	return nil
}
