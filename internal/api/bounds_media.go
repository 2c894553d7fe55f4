package api

import (
	"math"

	"github.com/skein-im/skein/internal/contract"
)

// mediaPattern is of an upload's id.
const mediaPattern = `^[A-Z2-7]{26}$`

// mediaBounds is of uploads.
func mediaBounds() map[string]Bounds {
	return map[string]Bounds{
		"SendMessageRequest.media":   {Pattern: mediaPattern, MaxItems: contract.MaxMedia, Unique: true},
		"GetMediaRequest.media":      {MaxItems: maxMediaAsked},
		"GetMediaResponse.media":     {MaxItems: maxMediaAsked},
		"LinkMediaRequest.media":     {Required: true},
		"LinkMediaResponse.path":     {Required: true, MinLength: 1, MaxLength: 600},
		"LinkMediaResponse.until_ms": millis(),
		"DeleteMediaRequest.id":      matching(mediaPattern).required(),
		"MediaPlace.id":              matching(mediaPattern).required(),
		"MediaPlace.conversation":    Bounds{Pattern: `^((dm:[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_-]{1,64}|grp:[A-Za-z0-9_-]{1,64}))?$`},
		"MediaPlace.seq":             seq().format("seq"),
		"Entry.media":                {MaxItems: contract.MaxMedia},
		"Preview.url":                {Required: true, MinLength: 1, MaxLength: 2000, MaxBytes: 2000},
		"Preview.title":              {MaxLength: 200},
		"Preview.description":        {MaxLength: 400},
		"Preview.site":               {MaxLength: 60},
		"Media.id":                   matching(mediaPattern).required(),
		"Media.mime":                 {Required: true, MinLength: 3, MaxLength: 100},
		"Media.bytes":                number(0, math.MaxInt64),
		"Media.name":                 {MaxLength: maxName, MaxBytes: maxName},
		"Media.width":                number(0, math.MaxUint32),
		"Media.height":               number(0, math.MaxUint32),
		"Media.blurhash":             {MaxLength: 100},
		"Media.duration_ms":          number(0, math.MaxUint32),
		"Media.waveform":             {Pattern: BytesPattern, MaxLength: (maxWaveform + 2) / 3 * 4},
	}
}
