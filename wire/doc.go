// Package wire is the Go form of Skein's protocol (proto/SPEC.md): the
// generated frames and API messages, the codecs that turn them into bytes, the
// error catalogue, and the interfaces a transport and a codec implement.
//
// It is public: the server, the Go SDK and third-party transports and codecs
// build on it. It knows nothing of the server. Everything here is safe for
// concurrent use unless it says otherwise.
package wire
