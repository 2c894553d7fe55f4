import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { anchors, rewrite, slug } from "./links.mjs"

const root = mkdtempSync(join(tmpdir(), "site-"))
mkdirSync(join(root, "docs/screens"), { recursive: true })
writeFileSync(join(root, "README.md"), "# Top\n\n## How fast?\n")
writeFileSync(join(root, "docs/a.md"), "# A\n\n```\n# no heading\n```\n\n## One `code` & two\n\n## One `code` & two\n")
writeFileSync(join(root, "docs/screens/light.png"), "")
writeFileSync(join(root, "Makefile"), "")
const pages = new Map([["README.md", "overview.md"], ["docs/a.md", "a.md"]])
const one = (from, text) => rewrite(root, from, text, pages, "https://forge")

test("headings have the ids that the forge gives them", () => {
  assert.equal(slug("4.36 Threads, and more"), "436-threads-and-more")
  assert.deepEqual([...anchors("# A\n```\n# no\n```\n## One `code` & two\n## One `code` & two\n")], ["a", "one-code--two", "one-code--two-1"])
})

test("a link to a page leads to the page, others to the forge, pictures come along", () => {
  assert.equal(one("docs/a.md", "[top](../README.md#how-fast)").text, "[top](/overview#how-fast)")
  assert.equal(one("README.md", "[make](Makefile) [docs](docs)").text, "[make](https://forge/blob/main/Makefile) [docs](https://forge/tree/main/docs)")
  const picture = one("README.md", "![a](docs/screens/light.png)")
  assert.equal(picture.text, "![a](/docs/screens/light.png)")
  assert.deepEqual([...picture.pictures], ["docs/screens/light.png"])
  assert.equal(one("README.md", "[out](https://example.org)").text, "[out](https://example.org)")
})

test("what leads nowhere is told", () => {
  assert.deepEqual(one("docs/a.md", "[x](b.md) [y](../README.md#slow) [z](../../etc/passwd) [here](#one-code--two)").faults.length, 3)
})

test("code keeps what it shows", () => {
  assert.deepEqual(one("README.md", "```\n[x](nowhere.md)\n```\n`[y](nowhere.md)`\n").faults, [])
})
