package im

import "context"

type requestKey struct{}

// WithRequest gives a context the id of the request that it belongs to.
func WithRequest(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestOf is the id of the request that a context belongs to, "" if it has none.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
