package api

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// compressFrom is the length from which an answer is compressed for who accepts it
// (SPEC §1.8).
const compressFrom = 1 << 10

// compressed compresses answers with gzip. Parts of files, and what has no body, stay
// as they are. What an answer has in it is chosen by who holds a token, which no other
// site's page does, so its length tells nobody a secret.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false))
	if err != nil {
		panic(err) // the options are constants
	}
	zipping := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead || r.Header.Get("Range") != "" {
			next.ServeHTTP(w, r)
			return
		}
		zipping.ServeHTTP(w, r)
	})
}
