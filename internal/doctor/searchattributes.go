package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

func missingSearchAttributes(ctx context.Context, c *starter.Client) ([]string, error) {
	listed, err := c.Temporal().OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: c.Namespace()})
	if err != nil {
		return nil, fmt.Errorf("list search attributes: %w", err)
	}
	var missing []string
	for _, name := range []string{contract.SearchAttributeJobType, contract.SearchAttributeOutcome} {
		if listed.GetCustomAttributes()[name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// EnsureSearchAttributes creates the missing search attributes, on servers that belong to Roundsman.
func EnsureSearchAttributes(ctx context.Context, c *starter.Client) error {
	missing, err := missingSearchAttributes(ctx, c)
	if err != nil || len(missing) == 0 {
		return err
	}
	create := map[string]enumspb.IndexedValueType{}
	for _, name := range missing {
		create[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.Temporal().OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: c.Namespace(), SearchAttributes: create})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create search attributes %s: %w", strings.Join(missing, ", "), err)
	}
	return nil
}
