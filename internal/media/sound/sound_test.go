package sound

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var le, be = binary.LittleEndian, binary.BigEndian

// page is a page of an Ogg file with whole packets.
func page(serial uint32, granule int64, packets ...[]byte) []byte {
	var lacing, body []byte
	for _, p := range packets {
		for n := len(p); ; n -= 255 {
			lacing = append(lacing, byte(min(n, 255)))
			if n < 255 {
				break
			}
		}
		body = append(body, p...)
	}
	b := append([]byte("OggS\x00\x00"), make([]byte, 21)...)
	le.PutUint64(b[6:], uint64(granule))
	le.PutUint32(b[14:], serial)
	b[26] = byte(len(lacing))
	return append(append(b, lacing...), body...)
}

func opusHead(skip uint16) []byte {
	return append(le.AppendUint16([]byte("OpusHead\x01\x01"), skip), make([]byte, 7)...)
}

// opus is so many packets of 20 ms, 50 a page, the last granule moved by some samples.
func opus(packets int, skip uint16, moved int64) []byte {
	b := append(page(7, 0, opusHead(skip)), page(7, 0, []byte("OpusTags"))...)
	for n := 0; n < packets; {
		var ps [][]byte
		for ; len(ps) < 50 && n < packets; n++ {
			ps = append(ps, append([]byte{1 << 3}, make([]byte, 60)...)) // SILK, 20 ms, one frame
		}
		at := int64(n) * 960
		if n == packets {
			at += moved
		}
		b = append(b, page(7, at, ps...)...)
		b = append(b, page(8, 1<<60, []byte("another stream"))...)
	}
	return b
}

func wavOf(format, channels, bits uint16, rate uint32, data []byte, length uint32) []byte {
	block := channels * bits / 8
	b := le.AppendUint32([]byte("RIFF"), 36+length)
	b = le.AppendUint32(append(b, "WAVEJUNK"...), 3)
	b = append(b, 1, 2, 3, 0)
	b = le.AppendUint32(append(b, "fmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, format), channels)
	b = le.AppendUint32(le.AppendUint32(b, rate), rate*uint32(block))
	b = le.AppendUint16(le.AppendUint16(b, block), bits)
	return append(le.AppendUint32(append(b, "data"...), length), data...)
}

// tone is a second at 8,000 Hz that is silent, and half as loud as may be in its second half.
func tone() (b []byte) {
	for i := range 8000 {
		v := int16(0)
		if i >= 4000 {
			v = -1 << 14
		}
		b = le.AppendUint16(b, uint16(v))
	}
	return b
}

func boxOf(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(append(be.AppendUint32(nil, uint32(8+len(body))), kind...), body...)
}

func mvhd(version byte, scale uint32, length uint64) []byte {
	b := []byte{version, 0, 0, 0}
	if version == 1 {
		b = append(b, make([]byte, 16)...)
		b = be.AppendUint64(be.AppendUint32(b, scale), length)
	} else {
		b = append(b, make([]byte, 8)...)
		b = be.AppendUint32(be.AppendUint32(b, scale), uint32(length))
	}
	return boxOf("mvhd", b, make([]byte, 80))
}

func frameOf(head []byte, length, times int) (b []byte) {
	for range times {
		b = append(append(b, head...), make([]byte, length-len(head))...)
	}
	return b
}

func flacOf(samples uint64, rate uint64) []byte {
	b := append([]byte("fLaC\x00\x00\x00\x22"), make([]byte, 10)...)
	return append(be.AppendUint64(b, rate<<44|15<<36|samples), make([]byte, 5000)...)
}

var (
	ftyp = boxOf("ftyp", []byte("M4A \x00\x00\x00\x00"))
	mdat = boxOf("mdat", make([]byte, 40_000))
	mp3  = frameOf([]byte{0xff, 0xfb, 0x90, 0}, 417, 100)                        // 128 kbit/s, 44,100 Hz
	adts = frameOf([]byte{0xff, 0xf1, 0x50, 0x80, 0x20, 0x1f, 0xfc}, 0x100, 100) // 44,100 Hz, 256 bytes
)

func about(a, b time.Duration) bool { return (a - b).Abs() < 2*time.Millisecond }

// How long each form lasts that is known.
func TestMeasure(t *testing.T) {
	for _, tc := range []struct {
		name, mime string
		file       []byte
		want       time.Duration
	}{
		{"opus", "audio/ogg", opus(500, 312, 0), 10*time.Second - 6500*time.Microsecond},
		{"opus whose end is cut", "audio/ogg", opus(500, 0, -480), 10*time.Second - 10*time.Millisecond},
		{"opus whose granule lies", "audio/ogg", opus(500, 0, 1<<50), 10 * time.Second},
		{"wav", "audio/wav", wavOf(1, 1, 16, 8000, tone(), 16000), time.Second},
		{"wav that says it is longer", "audio/wav", wavOf(1, 1, 16, 8000, tone(), math.MaxUint32), time.Second},
		{"wav of a form that is not read", "audio/wav", wavOf(2, 1, 4, 8000, make([]byte, 4000), 4000), 0},
		{"mp3", "audio/mpeg", mp3, 2612 * time.Millisecond},
		{"mp3 with tags", "audio/mpeg", slices.Concat([]byte("ID3\x04\x00\x00\x00\x00\x01\x00"), make([]byte, 128), mp3, []byte("TAG"), make([]byte, 125)), 2612 * time.Millisecond},
		{"aac", "audio/aac", adts, 2322 * time.Millisecond},
		{"amr", "audio/amr", append([]byte("#!AMR\n"), frameOf([]byte{7 << 3}, 32, 150)...), 3 * time.Second},
		{"amr wide", "audio/amr", append([]byte("#!AMR-WB\n"), frameOf([]byte{2 << 3}, 33, 150)...), 3 * time.Second},
		{"flac", "audio/flac", flacOf(88_200, 44_100), 2 * time.Second},
		{"mp4", "audio/mp4", slices.Concat(ftyp, boxOf("moov", boxOf("free", []byte{1}), mvhd(0, 1000, 4321)), mdat), 4321 * time.Millisecond},
		{"mp4 with its lengths behind, and long", "video/mp4", slices.Concat(ftyp, mdat, boxOf("moov", mvhd(1, 90_000, 180_000))), 2 * time.Second},
		{"mp4 in fragments", "video/mp4", slices.Concat(ftyp, boxOf("moov", mvhd(0, 1000, 0), boxOf("mvex", boxOf("mehd", be.AppendUint32([]byte{0, 0, 0, 0}, 5000)))), mdat), 5 * time.Second},
		{"mp4 that does not know", "video/mp4", slices.Concat(ftyp, boxOf("moov", mvhd(0, 1000, math.MaxUint32)), mdat), 0},
		{"no sound", "text/plain", mp3, 0},
	} {
		f := Measure(tc.mime, bytes.NewReader(tc.file), int64(len(tc.file)))
		if !about(f.Duration, tc.want) {
			t.Errorf("%s lasts %v, want %v", tc.name, f.Duration, tc.want)
		}
	}
}

// Loudnesses are those of the samples, of each kind of them.
func TestWaveform(t *testing.T) {
	var quarter []byte // 24 bits
	for range 200 {
		quarter = append(quarter, 0, 0, 0x20)
	}
	var floats []byte
	for range 50 {
		floats = le.AppendUint32(floats, math.Float32bits(float32(math.NaN())))
		floats = le.AppendUint32(floats, math.Float32bits(2)) // more than may be
	}
	for name, tc := range map[string]struct {
		file []byte
		want []byte
	}{
		"16 bits":  {wavOf(1, 1, 16, 8000, tone(), 16000), append(make([]byte, 50), bytes.Repeat([]byte{50}, 50)...)},
		"24 bits":  {wavOf(1, 2, 24, 100, quarter, 600), bytes.Repeat([]byte{25}, 100)},
		"8 bits":   {wavOf(1, 1, 8, 2, []byte{128, 64, 0}, 3), []byte{0, 50, 100}},
		"floating": {wavOf(3, 2, 32, 50, floats, 400), bytes.Repeat([]byte{100}, 50)},
	} {
		if f := Measure("audio/wav", bytes.NewReader(tc.file), int64(len(tc.file))); !bytes.Equal(f.Waveform, tc.want) {
			t.Errorf("%s: %v, want %v", name, f.Waveform, tc.want)
		}
	}
}

// What lies, is cut off, or is made to keep the server busy has no duration, or that of what
// is there; and no more memory is taken than the package says.
func TestHostile(t *testing.T) {
	for name, tc := range map[string]struct {
		mime string
		file []byte
	}{
		"a flac of a year":           {"audio/flac", flacOf(1<<36-1, 1)},
		"an mp4 of a year":           {"video/mp4", slices.Concat(ftyp, boxOf("moov", mvhd(1, 1, 1<<40)), mdat)},
		"an mp4 of 10 h in 40 KB":    {"video/mp4", slices.Concat(ftyp, boxOf("moov", mvhd(0, 1, 36_000)), mdat)},
		"an mp4 without a scale":     {"video/mp4", slices.Concat(ftyp, boxOf("moov", mvhd(0, 0, 10)), mdat)},
		"a box longer than the file": {"video/mp4", be.AppendUint32(nil, 1<<30)},
		"a box shorter than a box":   {"video/mp4", []byte("\x00\x00\x00\x04moov")},
		"a box of no length":         {"video/mp4", []byte("\x00\x00\x00\x01moov\x00\x00\x00\x00\x00\x00\x00\x00")},
		"a wav without samples":      {"audio/wav", wavOf(1, 1, 16, 8000, nil, math.MaxUint32)},
		"a wav of no rate":           {"audio/wav", wavOf(1, 1, 16, 0, tone(), 16000)},
		"a wav of no channels":       {"audio/wav", wavOf(1, 0, 16, 8000, tone(), 16000)},
		"a wav of one Hz":            {"audio/wav", wavOf(1, 1, 8, 1, make([]byte, 4000), 4000)},
		"opus of empty packets":      {"audio/ogg", append(page(7, 0, opusHead(0)), page(7, 1<<40, nil, nil, nil)...)},
		"opus that is all skipped":   {"audio/ogg", append(page(7, 0, opusHead(65535)), page(7, 960, []byte{8, 1})...)},
		"vorbis whose granule lies":  {"audio/ogg", append(page(7, 0, append([]byte("\x01vorbis\x00\x00\x00\x00\x01\x44\xac\x00\x00"), make([]byte, 14)...)), page(7, 1<<60, []byte{1})...)},
		"an ID3 that goes on":        {"audio/mpeg", []byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7f")},
		"one frame":                  {"audio/mpeg", mp3[:417]},
	} {
		if f := Measure(tc.mime, bytes.NewReader(tc.file), int64(len(tc.file))); f.Duration != 0 || f.Waveform != nil {
			t.Errorf("%s: %v, %v", name, f.Duration, f.Waveform)
		}
	}
	whole := opus(500, 0, 0)
	cut := Measure("audio/ogg", bytes.NewReader(whole[:len(whole)/2]), int64(len(whole)/2)).Duration
	if cut < 4*time.Second || cut > 5*time.Second {
		t.Errorf("half of it lasts %v", cut)
	}
	for name, tc := range map[string]struct {
		mime string
		file string
	}{
		"boxes without end":   {"video/mp4", strings.Repeat("\x00\x00\x00\x08free", 1<<20)},
		"strays without end":  {"audio/mpeg", strings.Repeat(string(mp3[:417])+strings.Repeat("x", 60_000), 200)},
		"chunks without end":  {"audio/wav", "RIFF....WAVE" + strings.Repeat("JUNK\x00\x00\x00\x00", 1<<20)},
		"pages of one packet": {"audio/ogg", string(page(7, 0, opusHead(0))) + strings.Repeat(string(page(7, 1, []byte{8})), 100_000)},
	} {
		allocated := testing.AllocsPerRun(1, func() { Measure(tc.mime, strings.NewReader(tc.file), 16<<20) })
		if allocated > 20 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

// Whatever the bytes are: it ends, tells no more than a day, nor more than 100 loudnesses.
func FuzzMeasure(f *testing.F) {
	for i, b := range [][]byte{opus(3, 1, 0), wavOf(1, 1, 16, 8000, tone()[:100], 100), mp3[:900], adts[:600], append([]byte("#!AMR\n"), 1, 2, 3), flacOf(1, 1)[:42], slices.Concat(ftyp, boxOf("moov", mvhd(0, 1, 1)))} {
		f.Add(byte(i), b)
	}
	kinds := []string{"audio/ogg", "audio/wav", "audio/mpeg", "audio/aac", "audio/amr", "audio/flac", "audio/mp4"}
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		got := Measure(kinds[int(kind)%len(kinds)], bytes.NewReader(b), int64(len(b)))
		if got.Duration < 0 || got.Duration > longest || len(got.Waveform) > bars || len(got.Waveform) > 0 && slices.Max(got.Waveform) > 100 {
			t.Errorf("%v, %v", got.Duration, got.Waveform)
		}
	})
}
