package main

// media are bugs of uploads, and of who may fetch them (SPEC §13).
var media = []Mutant{
	{
		Name: "bytes-are-no-trash-before-they-are-written", Breaks: "what a killed server wrote and nothing has is removed",
		Hunks:   []Hunk{{"internal/media/upload.go", "s.o.Names.DiscardBlobs(ctx, []string{name}, s.o.Now().Add(trashTime))", "ctx.Err()"}},
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
		Name: "orientation-is-lost", Breaks: "a picture is put upright",
		Hunks:   []Hunk{{"internal/media/picture/picture.go", "img = turn(img, orientation(file))", "img = turn(img, 1)"}},
		Package: "internal/media/picture", Test: "TestOrientation",
	},
	{
		Name: "svg-is-shown", Breaks: "what a browser would run is nothing to show",
		Hunks:   []Hunk{{"internal/media/picture/sniff.go", "case \"text/html\", \"text/xml\":", "case \"text/html\":"}},
		Package: "internal/media/picture", Test: "TestSniff",
	},
	{
		Name: "message-is-not-noted", Breaks: "a message that names uploads is noted before it is stored",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "it.everybody || it.streaming || it.media || it.replyTo", "it.everybody || it.streaming || it.replyTo"}},
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
}
