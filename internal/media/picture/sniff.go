package picture

import (
	"bytes"
	"net/http"
	"strings"
)

// SniffBytes is how many of the first bytes Sniff looks at.
const SniffBytes = 512

// Unknown is the type of what is not known, and of what a browser would run.
const Unknown = "application/octet-stream"

// Sniff tells what something is by its first bytes, whatever anybody says of it. HTML,
// SVG and other XML are Unknown: they are nothing to show.
func Sniff(head []byte) string {
	head = head[:min(len(head), SniffBytes)]
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "M4A ", "M4B ":
			return "audio/mp4"
		case "qt  ":
			return "video/quicktime"
		case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "msf1":
			return "image/heic"
		case "avif", "avis":
			return "image/avif"
		case "3gp4", "3gp5", "3gp6", "3g2a":
			return "video/3gpp"
		case "crx ": // what a camera's sensor saw, in boxes: no film
			return Unknown
		}
		return "video/mp4"
	}
	switch {
	case bytes.HasPrefix(head, []byte("OggS")):
		if bytes.Contains(head, []byte("OpusHead")) || bytes.Contains(head, []byte("vorbis")) {
			return "audio/ogg"
		}
		return "application/ogg"
	case bytes.HasPrefix(head, []byte("#!AMR")):
		return "audio/amr"
	case bytes.HasPrefix(head, []byte("fLaC")):
		return "audio/flac"
	case len(head) > 2 && head[0] == 0xff && head[1]&0xf6 == 0xf0:
		return "audio/aac"
	case len(head) > 2 && head[0] == 0xff && head[1]&0xe6 == 0xe2:
		return "audio/mpeg"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch kind {
	case "text/html", "text/xml":
		return Unknown
	case "text/plain":
		if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff"))), []byte("<")) {
			return Unknown
		}
	case "audio/wave":
		return "audio/wav"
	}
	return kind
}

// Shown tells that a browser may show, or play, a type by itself.
func Shown(mime string) bool {
	return Is(mime) || mime == "image/avif" || strings.HasPrefix(mime, "audio/") || strings.HasPrefix(mime, "video/")
}
