package control

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
)

// PutPage is [contract.PutPageActivity]. A repeat changes nothing.
func (c *Control) PutPage(ctx context.Context, in contract.PageInput, data []byte) (string, error) {
	return c.pages(ctx).Put(ctx, in.Run, data)
}

// ReadPage is [contract.ReadPageActivity]. A lost page returns an error that is not retried.
func (c *Control) ReadPage(ctx context.Context, in contract.PageInput) ([]byte, error) {
	data, err := c.pages(ctx).Get(ctx, in.Run, in.Page)
	if errors.Is(err, pages.ErrLost) {
		return nil, temporal.NewNonRetryableApplicationError(err.Error(), contract.PageLostError, err)
	}
	return data, err
}

// ClosePages is [contract.ClosePagesActivity]. A repeat changes nothing.
func (c *Control) ClosePages(ctx context.Context, in contract.ClosePagesInput) error {
	return c.pages(ctx).Close(ctx, in.Run, in.Pages)
}

func (c *Control) pages(ctx context.Context) *pages.Store {
	return pages.NewStore(struct {
		Fleet
		Raw
	}{c.fleet, c.raw}, activity.GetInfo(ctx).Namespace, c.converter)
}
