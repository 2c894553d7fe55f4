package main

// media are bugs of uploads, and of who may fetch them (SPEC §13).
var media = []Mutant{
	{
		Name: "clean-before-the-end", Breaks: "13.2: a scanner that answers before it has all bytes gave no verdict",
		Hunks:   []Hunk{{"internal/media/scan/scan.go", "			return errEarly\n", "			return nil\n"}},
		Package: "internal/media/scan", Test: "TestNoVerdict",
	},
	{
		Name: "bytes-are-no-trash-before-they-are-written", Breaks: "what a killed server wrote and nothing has is removed",
		Hunks:   []Hunk{{"internal/media/upload.go", "s.o.Uploads.DiscardBlobs(ctx, []string{name}, s.o.Now().Add(trashTime))", "ctx.Err()"}},
		Package: "internal/media", Test: "TestKilledWhileUploading",
	},
	{
		Name: "named-upload-goes", Breaks: "what a message names stays",
		Hunks:   []Hunk{{"internal/media/sweep.go", "\t\t\t\tif names {\n", "\t\t\t\tif names = false; names {\n"}},
		Package: "internal/media", Test: "TestThrownAway",
	},
	{
		Name: "unstored-message-names", Breaks: "what no message names is thrown away after a day",
		Hunks:   []Hunk{{"internal/media/sweep.go", "\t\t\t\tif names {\n", "\t\t\t\tif names = true; names {\n"}},
		Package: "internal/media", Test: "TestThrownAway",
	},
	{
		Name: "any-message-gives-the-right", Breaks: "a message gives the right to what it names alone",
		Hunks:   []Hunk{{"internal/media/read.go", "if !slices.Contains(ids, id) {", "if len(ids) == 0 && !slices.Contains(ids, id) {"}},
		Package: "internal/media", Test: "TestWhoMayFetch",
	},
	{
		Name: "checksum-is-not-compared", Breaks: "with a checksum a request counts as a whole or not at all",
		Hunks:   []Hunk{{"internal/media/upload.go", "if !bytes.Equal(sum.Hash.Sum(nil), sum.Want) {", "if len(sum.Want) == 0 {"}},
		Package: "internal/media", Test: "TestChecksum",
	},
	{
		Name: "link-of-anybody", Breaks: "a link is for one user",
		Hunks:   []Hunk{{"internal/media/read.go", "return hmac.Equal([]byte(signature), []byte(s.Sign(l))) && l.Until", "return l.Until"}},
		Package: "internal/media", Test: "TestLinks",
	},
	{
		Name: "bomb-is-decoded", Breaks: "nothing is decoded before its size is known and allowed",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "if int64(width)*int64(height) > m.o.MaxPixels {", "if m.o.MaxPixels == 0 {"}},
		Package: "internal/media/picture", Test: "TestBombs",
	},
	{
		Name: "long-picture-takes-gigabytes", Breaks: "a picture is made small within the memory that it waited for",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "longest > longSide {", "longest < 0 {"}},
		Package: "internal/media/picture", Test: "TestLongPictures",
	},
	{
		Name: "uploads-fill-the-disk", Breaks: "what is to stay free stays free, however many uploads go on",
		Hunks:   []Hunk{{"internal/media/upload.go", "if err := s.room(ctx, min(pieceBytes, most)); err != nil {", "if err := ctx.Err(); err != nil {"}},
		Package: "internal/media", Test: "TestRoomIsLookedForAgain",
	},
	{
		Name: "orientation-is-lost", Breaks: "a picture is put upright",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "			img = turn(img, turned)\n			body, err = asJPEG", "			body, err = asJPEG"}},
		Package: "internal/media/picture", Test: "TestOrientation",
	},
	{
		Name: "orientation-of-a-png-is-lost", Breaks: "13.3: a PNG is put upright",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "			img = turn(img, turned)\n			body, err = asPNG", "			body, err = asPNG"}},
		Package: "internal/media/picture", Test: "TestOrientationOfPNG",
	},
	{
		Name: "exif-of-a-heic-stays", Breaks: "13.3: a HEIC says nothing of the place",
		Hunks:   []Hunk{{"internal/media/isobmff/items.go", `		case "Exif":` + "\n", `		case "exif":` + "\n"}},
		Package: "internal/media/isobmff", Test: "TestItems",
	},
	{
		Name: "exif-of-a-heic-is-no-exif", Breaks: "13.3: an item with EXIF is EXIF that says nothing, which decoders take",
		Hunks:   []Hunk{{"internal/media/isobmff/items.go", "	p.Begin = rest[len(p.Begin):]\n", ""}},
		Package: "internal/media/isobmff", Test: "TestEXIFInParts",
	},
	{
		Name: "items-are-looked-for-in-the-file", Breaks: "13.3: items in idat are written over, and nothing else",
		Hunks:   []Hunk{{"internal/media/isobmff/items.go", "		return l.idat, nil\n", "		return box{end: l.f.size}, nil\n"}},
		Package: "internal/media/isobmff", Test: "TestItems",
	},
	{
		Name: "broken-heic-is-taken", Breaks: "13.3: a picture of which it cannot be told what it says besides is not taken",
		Hunks:   []Hunk{{"internal/media/isobmff/isobmff.go", "		if f.picture {\n			return b, false, fmt", "		if f.size < 0 {\n			return b, false, fmt"}},
		Package: "internal/media/isobmff", Test: "TestBrokenPictures",
	},
	{
		Name: "place-of-a-film-stays", Breaks: "13.3: a film says nothing of the place",
		Hunks:   []Hunk{{"internal/media/isobmff/isobmff.go", `		case "udta", "meta", "uuid"`, `		case "meta", "uuid"`}},
		Package: "internal/media/isobmff", Test: "TestFilm",
	},
	{
		Name: "gps-track-stays", Breaks: "13.3: a track of metadata goes with its samples",
		Hunks:   []Hunk{{"internal/media/isobmff/track.go", "	if err := f.samples(); err != nil {\n", "	if _, err := f.text(0, 0, 0); err != nil {\n"}},
		Package: "internal/media/isobmff", Test: "TestMetadataTrack",
	},
	{
		Name: "what-is-kept-is-as-it-came", Breaks: "13.3: what is kept, and not its hash alone, is without what a film says besides",
		Hunks:   []Hunk{{"internal/media/upload.go", "s.keep(ctx, u.Blob, isobmff.Over(again, private))", "s.keep(ctx, u.Blob, again)"}},
		Package: "internal/media", Test: "TestSaysNoPlace",
	},
	{
		Name: "turned-webp-keeps-its-type", Breaks: "13.3: a WebP that is turned is written anew as what it says it is",
		Hunks:   []Hunk{{"internal/media/upload.go", "	u.MIME = made.MIME\n", ""}},
		Package: "internal/media", Test: "TestTurnedWebP",
	},
	{
		Name: "svg-is-shown", Breaks: "what a browser would run is nothing to show",
		Hunks:   []Hunk{{"internal/media/picture/sniff.go", "case \"text/html\", \"text/xml\":", "case \"text/html\":"}},
		Package: "internal/media/picture", Test: "TestSniff",
	},
	{
		Name: "message-is-not-noted", Breaks: "a message that names uploads is noted before it is stored",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "it.everybody || it.streaming || it.media || it.sticker || len(it.breaks) > 0 ||", "it.everybody || it.streaming || it.sticker || len(it.breaks) > 0 ||"}},
		Package: messagingDir, Test: "TestMediaAreNotedFirst",
	},
	{
		Name: "recall-is-not-doubted", Breaks: "what a message named that was taken back is thrown away",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "err = s.doubtMedia(ctx, target)", "err = nil"}},
		Package: messagingDir, Test: "TestMediaAreNotedFirst",
	},
	{
		Name: "gone-is-not-doubted", Breaks: "13.1: what a message named that disappeared is thrown away: it is noted before the store gives the message up",
		Hunks:   []Hunk{{messagingDir + "/giveup.go", "if err := s.doubtMedia(ctx, es...); err != nil {", "if err := ctx.Err(); err != nil {"}},
		Package: messagingDir, Test: "TestGoneMediaAreDoubted",
	},
	{
		Name: "what-is-below-the-floor-is-not-doubted", Breaks: "13.1: what a message named that is not kept any more is thrown away",
		Hunks:   []Hunk{{messagingDir + "/retention.go", "err := s.doubtSpan(ctx, c, r.Given, to)", "err := ctx.Err()"}},
		Package: messagingDir, Test: "TestMediaBelowTheFloorAreDoubted",
	},
	{
		Name: "doomed-blob-is-kept", Breaks: "what is to be removed is nobody's any more",
		Hunks:   []Hunk{{"internal/directory/media.go", "WHERE blob = $1 AND doomed = FALSE\", blob)", "WHERE blob = $1\", blob)"}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/BlobsDoomed",
	},
	{
		Name: "upload-begins-anew", Breaks: "what was cut off goes on where the server has it",
		Hunks:   []Hunk{{"sdk/go/upload.go", "\t\tg.state = *r\n", ""}},
		Package: "test/e2e", Test: "TestUploadGoesOn",
	},
	{
		Name: "upload-mixes-contents", Breaks: "another content is not gone on with",
		Hunks:   []Hunk{{"sdk/go/upload.go", "if r.Size != g.u.Size || r.Sum != sum {", "if r.Size != g.u.Size {"}},
		Package: "test/e2e", Test: "TestUploadGoesOn",
	},
	{
		Name: "download-writes-twice", Breaks: "after a cut a download goes on behind the last byte that it wrote",
		Hunks:   []Hunk{{"sdk/go/download.go", "\tfrom := d.offset + d.done\n", "\tfrom := d.offset\n"}},
		Package: "test/e2e", Test: "TestUploadCut",
	},
	{
		Name: "token-goes-elsewhere", Breaks: "the token is told to the client's own server alone",
		Hunks:   []Hunk{{"sdk/go/web.go", "return http.ErrUseLastResponse // the", "return nil // the"}},
		Package: "sdk/go", Test: "TestUploadAnswers",
	},
	{
		Name: "own-id-is-replaced", Breaks: "a message with an id of the program's own is one message, however often it is sent",
		Hunks:   []Hunk{{"sdk/go/outbox.go", "\tif len(given) > 0 {\n", "\tif len(given) > 99 {\n"}},
		Package: "sdk/go", Test: "TestSameIDSameMessage",
	},
	{
		Name: "missing-blob-is-no-news", Breaks: "a backup names what it could not hold",
		Hunks:   []Hunk{{"internal/backup/media.go", "case k.Missing != \"\" && !b.Named: // thrown away since", "case k.Missing != \"\":\n\t\t\treturn nil\n\t\tcase !b.Named && b.Piece && k.Missing != \"\":"}},
		Package: "internal/backup", Test: "TestMissingMedia",
	},
	{
		Name: "damaged-blob-is-held", Breaks: "a backup holds what an upload was, or says that it does not",
		Hunks:   []Hunk{{"internal/backup/media.go", "hex.EncodeToString(whole.Sum(nil)) != b.Hash {", "len(b.Hash) == 1 {"}},
		Package: "internal/backup", Test: "TestMissingMedia",
	},
	{
		Name: "prune-forgets-the-blobs-of-kept-backups", Breaks: "what a kept backup names stays",
		Hunks:   []Hunk{{"internal/backup/prune.go", "\t\t\thold(&k.File)\n", "\t\t\t_ = k\n"}},
		Package: "internal/backup", Test: "TestPrunedAndDamagedMedia",
	},
	{
		Name: "held-blob-is-read-again", Breaks: "a blob that a backup has is not copied again",
		Hunks:   []Hunk{{"internal/backup/media.go", "if e.next.Path == name && e.next.Missing == \"\"", "if e.next.Path == name && e.next.Missing == \"-\""}},
		Package: "internal/backup", Test: "TestMediaBackupAndRestore",
	},
	{
		Name: "still-store-is-waited-for", Breaks: "a bucket that stands still holds nobody for ever",
		Hunks:   []Hunk{{"internal/bucket/watch.go", "time.AfterFunc(b.still, func() { cancel(ErrStill) })", "time.AfterFunc(b.still, func() {})"}},
		Package: "internal/bucket", Test: "TestStandsStill",
	},
	{
		Name: "saved-over-a-file", Breaks: "skein chat writes over nothing without being told",
		Hunks:   []Hunk{{"internal/terminal/files.go", "os.O_WRONLY|os.O_CREATE|os.O_EXCL", "os.O_WRONLY|os.O_CREATE"}, {"internal/terminal/files.go", "case err == nil && !replace, err", "case err != nil && !replace && !errors.Is(err, fs.ErrNotExist), err"}},
		Package: "internal/terminal", Test: "TestNewFile",
	},
	{
		Name: "name-is-a-path", Breaks: "names from the server are no paths",
		Hunks:   []Hunk{{"internal/terminal/files.go", "\tname = name[strings.LastIndexAny(name, `/\\`)+1:]\n", ""}},
		Package: "internal/terminal", Test: "TestSafeName",
	},
	{
		Name: "lines-race", Breaks: "lines are carried out in the order in which they were written",
		Hunks:   []Hunk{{"internal/terminal/window.go", "\tw.last = mine\n", ""}},
		Package: "internal/terminal", Test: "TestLinesInTurn",
	},
	{
		Name: "another-place-is-taken", Breaks: "a node takes no uploads where the others do not find them",
		Hunks:   []Hunk{{"internal/media/elsewhere.go", "if s.o.Elsewhere == nil || s.same.Load() {", "if s.o.Elsewhere != nil || s.same.Load() {"}},
		Package: "internal/media", Test: "TestAnotherPlace",
	},
	{
		Name: "waiting-pictures-fill-the-memory", Breaks: "pictures are looked at within their memory, also those that wait",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "held := min(size, m.forFiles)", "held := min(size, 1)"}},
		Package: "internal/media/picture", Test: "TestFilesWaitOutside",
	},
	{
		Name: "pictures-take-all-processors", Breaks: "as many pictures are decoded at a time as there are turns",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "m.turns.Acquire(ctx, 1)", "m.turns.Acquire(ctx, 0)"}},
		Package: "internal/media/picture", Test: "TestTurns",
	},
	{
		Name: "waiting-message-names-nothing", Breaks: "4.19: what a scheduled message names stays as long as it is kept",
		Hunks:   []Hunk{{"internal/media/sweep.go", "names, err = s.o.Waits(ctx, n)", "_, err = s.o.Waits(ctx, n)"}},
		Package: "internal/media", Test: "TestScheduledMediaStay",
	},
	{
		Name: "scheduled-before-it-is-named", Breaks: "4.19: a scheduled message names its sender's own uploads",
		Hunks:   []Hunk{{"internal/later/service.go", "\tif err := s.o.Name(ctx, u, m); err != nil {\n", "\tif err := s.o.Name(ctx, u, m); err != nil && ctx.Err() != nil {\n"}},
		Package: "internal/later", Test: "TestUploadsAreNamedFirst",
	},
}
