// What axe finds on a page that stands.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** The violations of accessibility on a page, a line each. What is loaded lazily has its time; then nothing may be
 *  busy, and no transition under way: a table that was loading a moment ago is paler than it will be. */
export async function violations(page, what) {
  await page.waitForTimeout(400)
  await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null &&
    document.getAnimations().every((a) => a.playState !== "running" || a.effect?.getComputedTiming().iterations === Infinity), undefined, { timeout: 30_000 })
  await page.evaluate(axe)
  const r = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }))
  return r.violations.flatMap((v) => v.nodes.map((n) => `${what}: ${v.id}: ${n.target.join(" ")}: ${n.failureSummary?.split("\n")[1]?.trim() ?? ""}`))
}
