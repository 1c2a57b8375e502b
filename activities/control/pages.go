package control

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
)

// PutPage is [contract.PutPageActivity]. A repeat changes nothing.
func (c *Control) PutPage(ctx context.Context, in contract.PageInput, data []byte) (string, error) {
	if in.State {
		return c.pages(ctx).PutState(ctx, in.Run, data)
	}
	return c.pages(ctx).Put(ctx, in.Run, data)
}

// ReadPage is [contract.ReadPageActivity]. A lost page is read again, too: a reset of the workflow run before it writes it once more.
func (c *Control) ReadPage(ctx context.Context, in contract.PageInput) ([]byte, error) {
	return c.pages(ctx).Get(ctx, in.Run, in.Page)
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
