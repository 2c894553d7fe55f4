/** Paths that are the server's, not the app's; internal/webapp has the same list. */
export const apart = /^\/(api|ws|media|export|docs|claim|login\/callback|livez|readyz|metrics)(\/|$)/
