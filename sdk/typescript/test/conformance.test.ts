import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, test } from "node:test"

const root = new URL("../../../../", import.meta.url)

interface Outcome { name: string; outcome: string; reason?: string; story?: unknown }

// Both at once: a scenario waits more than it computes.
describe("conformance", { concurrency: true }, () => {
  for (const [codec, name] of [["json", "the scenarios of sdk/conformance"], ["pb", "the scenarios of sdk/conformance, in protobuf"]] as const) {
    test(name, { timeout: 300_000 }, async (t) => {
      const lab = fileURLToPath(new URL("bin/skein-lab", root))
      assert.ok(existsSync(lab), "bin/skein-lab is not there: make build")
      const driver = `node ${fileURLToPath(new URL("../conformance/driver.js", import.meta.url))}`
      const p = spawn(lab, ["sdk-conformance", "--driver", driver, "--codec", codec, "--json"], { stdio: ["ignore", "pipe", "inherit"] })
      let text = ""
      for await (const part of p.stdout) text += String(part)
      const all = text.trim().split("\n").map((line) => JSON.parse(line) as Outcome)
      assert.ok(all.length > 80, `${all.length} scenarios`)
      const wrong = all.filter((o) => o.outcome !== "passed")
      t.diagnostic(`${all.length} scenarios`)
      assert.deepEqual(wrong.map((o) => `${o.name}: ${o.outcome}: ${o.reason ?? ""}`), [])
    })
  }
})
