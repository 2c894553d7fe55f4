import { beforeEach, describe, expect, it } from "vitest"
import type { Announcement } from "@skein-im/client"
import { living, put, putAway, saidIn } from "./announced.js"

const one = (id: string, more: Partial<Announcement> = {}): Announcement => ({ id, level: "ANNOUNCEMENT_LEVEL_INFO", text: "own", createdAtMs: 1, ...more })

describe("what is announced", () => {
  const kept = new Map<string, string>()
  beforeEach(() => {
    kept.clear()
    Object.assign(globalThis, { localStorage: { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => kept.set(k, v) } })
  })
  it("is shown until it is over, and not after it was put away", () => {
    const all = [one("a", { untilMs: 100 }), one("b"), one("c", { untilMs: "50" as unknown as number })] // an answer has numbers as text
    expect(living(all, new Set(["b"]), 60).map((a) => a.id)).toEqual(["a"])
    expect(living(all, new Set(), 100).map((a) => a.id)).toEqual(["b"])
  })
  it("stays away in this browser, for as long as it is announced", () => {
    const all = [one("a"), one("b")]
    expect([...put("a", all)]).toEqual(["a"])
    expect([...putAway()]).toEqual(["a"])
    expect([...put("b", [one("b")])]).toEqual(["b"])
    kept.set("skein.announced", "{broken")
    expect([...putAway()]).toEqual([])
  })
  it("is said in the first language that there is", () => {
    const a = one("a", { texts: [{ language: "de", text: "deutsch" }, { language: "zh-Hans", text: "中文" }] })
    expect(saidIn(a, ["zh-CN", "de"])).toBe("中文")
    expect(saidIn(a, ["de-AT"])).toBe("deutsch")
    expect(saidIn(a, ["en", "de"])).toBe("own")
    expect(saidIn(a, ["fr"])).toBe("own")
  })
})
