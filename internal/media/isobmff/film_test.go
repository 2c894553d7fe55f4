package isobmff

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

// samples are the tables of a track whose samples lie in chunks.
func samples(chunks []uint64, wide int, runs []uint32, each uint32, sizes ...uint32) []byte {
	stsz := be.AppendUint32(be.AppendUint32(nil, each), uint32(len(sizes)))
	if each > 0 {
		stsz = be.AppendUint32(be.AppendUint32(nil, each), sizes[0])
		sizes = nil
	}
	for _, n := range sizes {
		stsz = be.AppendUint32(stsz, n)
	}
	stsc := be.AppendUint32(nil, uint32(len(runs)/2))
	for i := 0; i < len(runs); i += 2 {
		stsc = be.AppendUint32(be.AppendUint32(be.AppendUint32(stsc, runs[i]), runs[i+1]), 1)
	}
	stco := be.AppendUint32(nil, uint32(len(chunks)))
	for _, at := range chunks {
		stco = number(stco, wide, at)
	}
	kind := map[int]string{4: "stco", 8: "co64"}[wide]
	return boxOf("minf", boxOf("stbl", full("stsd", 0), full("stsz", 0, stsz), full("stsc", 0, stsc), full(kind, 0, stco)))
}

func trackOf(handler string, tables []byte, more ...[]byte) []byte {
	return boxOf("trak", full("tkhd", 0), boxOf("mdia", full("mdhd", 0), hdlr(handler), tables), slices.Concat(more...))
}

// What cameras write into a film of the place, of themselves and of who made it is written
// over, wherever it lies; what is played and what players need stays.
func TestFilm(t *testing.T) {
	said := []byte("made by who at " + place)
	xyz := boxOf("udta", boxOf("\xa9xyz", []byte("\x00\x1b\x15\xc7+"+place)), boxOf("loci", said))
	apple := boxOf("meta", hdlr("mdta"), full("keys", 0, []byte("com.apple.quicktime.location.ISO6709")), boxOf("ilst", said))
	all := boxOf("uuid", []byte(spherical), []byte("<GSpherical:Spherical>"))
	sound := trackOf("soun", samples([]uint64{36}, 4, []uint32{1, 1}, 5, 1), xyz, apple, boxOf("uuid", make([]byte, 16), said), all)
	moov := [][]byte{full("mvhd", 0, []byte("lasts")), sound, xyz, full("meta", 0, hdlr("mdir"), said), boxOf("uuid", said), apple}
	ftyp, played := boxOf("ftyp", []byte("qt  \x00\x00\x00\x00")), []byte("played, played")
	for what, file := range map[string][]byte{
		"moov first":        slices.Concat(ftyp, boxOf("moov", moov...), boxOf("mdat", played)),
		"moov last":         slices.Concat(ftyp, boxOf("wide"), boxOf("mdat", played), boxOf("moov", moov...)),
		"long lengths":      slices.Concat(ftyp, longBox("mdat", played), longBox("moov", moov...), longBox("udta", said)),
		"to the end":        slices.Concat(ftyp, boxOf("mdat", played), []byte("\x00\x00\x00\x00moov"), slices.Concat(moov...)),
		"cut off":           slices.Concat(ftyp, boxOf("mdat", played), boxOf("moov", append(moov, xyz)...))[:820],
		"user data of its":  slices.Concat(ftyp, xyz, apple, boxOf("uuid", said), boxOf("moov", moov...), boxOf("mdat", played)),
		"in fragments":      slices.Concat(ftyp, boxOf("moov", moov...), boxOf("moof", xyz, boxOf("traf", full("tfhd", 0), xyz, apple)), boxOf("mdat", played)),
		"a terminator":      slices.Concat(ftyp, boxOf("mdat", played), boxOf("moov", append(moov, make([]byte, 4))...)),
		"metadata of their": slices.Concat(ftyp, boxOf("mdat", played), boxOf("moov", append(moov, boxOf("udta", said, make([]byte, 4)))...)),
	} {
		kept := without(t, "video/quicktime", file)
		saysNothing(t, what, kept)
		for _, stays := range []string{"played, played", "lasts", "<GSpherical", "soun", "stco"} {
			if !bytes.Contains(kept, []byte(stays)) {
				t.Errorf("%s: %q is gone", what, stays)
			}
		}
		if again := without(t, "video/quicktime", kept); !bytes.Equal(again, kept) {
			t.Errorf("%s: what was written over is something else the second time", what)
		}
	}
	drm := boxOf("uuid", []byte("how it is decrypted"))
	if kept := without(t, "video/mp4", slices.Concat(ftyp, boxOf("moof", boxOf("traf", drm)))); !bytes.Contains(kept, drm) {
		t.Error("a fragment cannot be decrypted")
	}
}

// What is no film behind its first box is as it came.
func TestBrokenFilms(t *testing.T) {
	for what, file := range map[string][]byte{
		"nothing":              nil,
		"one byte":             {0},
		"no boxes":             slices.Concat(boxOf("ftyp", []byte("isom")), []byte("\x00\x00\x00\x03 these are other bytes")),
		"a long length":        slices.Concat(boxOf("ftyp"), []byte("\x00\x00\x00\x01mdat\x00\x00\x00\x00\x00\x00\x00\x0f of 15 bytes")),
		"a length of 64 bits":  slices.Concat(boxOf("ftyp"), []byte("\x00\x00\x00\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff and so on")),
		"half of a length":     slices.Concat(boxOf("ftyp"), []byte("\x00\x00\x00\x01moov\xff\xff\xff\xff")),
		"a track without":      slices.Concat(boxOf("ftyp"), boxOf("moov", boxOf("trak", boxOf("mdia", boxOf("hdlr", []byte{1}))))),
		"boxes in themselves":  boxOf("mpvd", boxOf("mpvd", boxOf("mpvd", boxOf("moov")))),
		"a track in no film":   boxOf("trak", boxOf("hdlr", make([]byte, 30))),
		"a word that is other": []byte("this ftyp is none, but words"),
	} {
		if kept := without(t, "video/mp4", file); !bytes.Equal(kept, file) {
			t.Errorf("%s: it is something else: %q", what, kept)
		}
	}
}

// A track of metadata goes, with its samples: chunks of one and of several, of one length and
// of many, at offsets of either width. Samples of others stay.
func TestMetadataTrack(t *testing.T) {
	ftyp := boxOf("ftyp", []byte("mp42\x00\x00\x00\x00"))
	mdat := boxOf("mdat", []byte("sound"), []byte("52.5200 N"), []byte("sound"), []byte("13.4050"), []byte("52.6"), []byte("sound"), []byte("13.4999"))
	at := uint64(len(ftyp) + 8)
	chunks := []uint64{at + 5, at + 19, at + 35}
	sound := trackOf("soun", samples([]uint64{at, at + 14, at + 30}, 4, []uint32{1, 1}, 5, 3))
	for what, meta := range map[string][]byte{
		"sizes":          trackOf("meta", samples(chunks, 4, []uint32{1, 1, 2, 2, 3, 1}, 0, 9, 7, 4, 7)),
		"wide":           trackOf("camm", samples(chunks, 8, []uint32{1, 1, 2, 2, 3, 1}, 0, 9, 7, 4, 7)),
		"one size":       trackOf("meta", samples([]uint64{at + 5, at + 19, at + 36}, 4, []uint32{1, 9, 2, 11, 3, 6}, 1, 26)),
		"a chunk beyond": trackOf("meta", samples([]uint64{at + 5, at + 19, at + 35, 1 << 30}, 4, []uint32{1, 1, 2, 2, 3, 1, 4, 2}, 0, 9, 7, 4, 7, 1<<31, 1<<31)),
	} {
		file := slices.Concat(ftyp, mdat, boxOf("moov", full("mvhd", 0), sound, meta))
		kept := without(t, "video/mp4", file)
		if bytes.Contains(kept, []byte("52.")) || bytes.Contains(kept, []byte("13.")) || bytes.Count(kept, []byte("sound")) != 3 {
			t.Errorf("%s: %q", what, kept)
		}
		if !bytes.Contains(kept, sound) || bytes.Count(kept, []byte("trak")) != 1 {
			t.Errorf("%s: the wrong track went: %q", what, kept)
		}
	}
	many := make([]uint64, mostPatches+1)
	file := slices.Concat(ftyp, mdat, boxOf("moov", trackOf("meta", samples(many, 4, []uint32{1, 1}, 1, uint32(len(many))))))
	if _, err := Private("video/mp4", bytes.NewReader(file), int64(len(file))); !errors.Is(err, ErrBroken) {
		t.Errorf("more chunks than may be: %v", err)
	}
}

// failing cannot be read from an offset on.
type failing struct {
	b  []byte
	at int64
}

var errStore = errors.New("the store is away")

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.at {
		return 0, errStore
	}
	return bytes.NewReader(f.b).ReadAt(p, at)
}

// A store that fails is no broken file, wherever it does: it is asked again.
func TestStoreFails(t *testing.T) {
	ftyp := boxOf("ftyp", []byte("heic\x00\x00\x00\x00"))
	film := slices.Concat(ftyp, boxOf("moov", trackOf("meta", samples([]uint64{8}, 4, []uint32{1, 1}, 0, 4)), boxOf("trak", boxOf("uuid", []byte(spherical)))))
	for mime, file := range map[string][]byte{"video/mp4": film, "image/heic": heif(form{offset: 4}, item{kind: "Exif", body: exif("")})} {
		told := 0
		for at := range file {
			ps, err := Private(mime, failing{file, int64(at)}, int64(len(file)))
			if err != nil {
				told++
				if !errors.Is(err, errStore) || ps != nil {
					t.Fatalf("%s, %d: %v", mime, at, err)
				}
			}
		}
		if told < len(file)/3 {
			t.Errorf("%s: %d of %d were told", mime, told, len(file))
		}
	}
}

// Patches that lie over each other are written as if the first had been written last.
func TestDisjoint(t *testing.T) {
	ps := disjoint([]Patch{{At: 9, Size: 4, Begin: "abcd"}, {At: 2, Size: 3, Begin: "xy", Fill: '-'}, {At: 2, Size: 9, Begin: "1234", Fill: '+'}, {At: 20, Size: 5, Fill: '='}})
	got, err := io.ReadAll(Over(bytes.NewReader(make([]byte, 22)), ps))
	if want := "\x00\x001234+++++cd\x00\x00\x00\x00\x00\x00\x00=="; err != nil || string(got) != want {
		t.Errorf("%q, %q wanted: %v", got, want, err)
	}
}

// Whatever somebody uploads, what is written over lies in it, in its order and not twice.
func FuzzPrivate(f *testing.F) {
	f.Add(heif(form{offset: 4, version: 1}, item{kind: "hvc1", body: []byte(picture)}, item{kind: "Exif", body: exif(""), idat: true, parts: 2}, item{kind: "mime", content: "application/rdf+xml", body: []byte(place)}))
	f.Add(heif(form{offset: 8, base: 8, version: 2, metaLast: true, long: true}, item{kind: "Exif", body: exif("")}))
	f.Add(slices.Concat(boxOf("ftyp", []byte("mp42")), boxOf("moov", trackOf("meta", samples([]uint64{8}, 8, []uint32{1, 1}, 0, 4)), boxOf("udta", []byte(place)))))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, mime := range []string{"image/heic", "video/mp4"} {
			ps, err := Private(mime, bytes.NewReader(file), int64(len(file)))
			if err != nil && !errors.Is(err, ErrBroken) {
				t.Fatal(err)
			}
			end := int64(0)
			for _, p := range ps {
				if p.At < end || p.Size <= 0 || int64(len(p.Begin)) > p.Size || p.At+p.Size > int64(len(file)) {
					t.Fatalf("%s: %+v behind %d, of %d", mime, p, end, len(file))
				}
				end = p.At + p.Size
			}
			if kept, err := io.ReadAll(Over(bytes.NewReader(file), ps)); err != nil || len(kept) != len(file) {
				t.Errorf("%s: %d of %d: %v", mime, len(kept), len(file), err)
			}
		}
	})
}

// counting notes how much of a file is read.
type counting struct {
	io.ReaderAt
	n int
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	c.n += len(p)
	return c.ReaderAt.ReadAt(p, at)
}

// Of a long film the heads of its boxes are read, and not what is played.
func TestReadsLittle(t *testing.T) {
	file := slices.Concat(boxOf("ftyp", []byte("mp42")), boxOf("mdat", make([]byte, 1<<20)), boxOf("moov", trackOf("vide", samples([]uint64{20}, 4, []uint32{1, 1}, 0, make([]uint32, 10_000)...)), boxOf("udta", make([]byte, 1<<20))))
	c := &counting{ReaderAt: bytes.NewReader(file)}
	if ps, err := Private("video/mp4", c, int64(len(file))); err != nil || len(ps) != 2 || c.n > 1000 {
		t.Errorf("%d bytes of %d were read: %d patches, %v", c.n, len(file), len(ps), err)
	}
}
