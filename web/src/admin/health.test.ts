import { describe, expect, test } from "vitest"
import { certificateTone, fillOf, latenessOf, stateOf, type Health } from "./health.js"

const day = 86_400_000
const well = { ready: true, sendsWaiting: 1, sendsMost: 100, openFiles: 10, openFilesMost: 100, stores: [{ name: "journal" }], followers: [{ name: "push", behindMs: "0" }], nodes: [{ name: "a", ready: true, self: true }] } as unknown as Health

describe("health at a glance", () => {
  test("what has an end is well, nearly full or full; what has none says nothing", () => {
    expect(fillOf(10, 100)).toEqual({ share: 0.1, tone: "success" })
    expect(fillOf(70, 100)?.tone).toBe("warning")
    expect(fillOf(95, 100)?.tone).toBe("danger")
    expect(fillOf(300, 100)).toEqual({ share: 1, tone: "danger" })
    expect(fillOf(5, 0)).toBeUndefined()
  })
  test("queues that are late, certificates that end", () => {
    expect([0, 59_999, 60_000, 600_000].map(latenessOf)).toEqual(["success", "success", "warning", "danger"])
    expect([2 * day, 10 * day, 30 * day].map((left) => certificateTone(left, "", 0))).toEqual(["danger", "warning", "success"])
    expect(certificateTone(30 * day, "it could not be renewed", 0)).toBe("warning")
  })
  test("the worst is what is said", () => {
    expect(stateOf(well, 0)).toBe("success")
    expect(stateOf({ ...well, warnings: ["plain HTTP"] } as Health, 0)).toBe("warning")
    expect(stateOf({ ...well, sendsWaiting: 75 } as Health, 0)).toBe("warning")
    expect(stateOf({ ...well, ready: false } as Health, 0)).toBe("danger")
    expect(stateOf({ ...well, stores: [{ name: "journal", trouble: "the disk is full" }] } as Health, 0)).toBe("danger")
    expect(stateOf({ ...well, nodes: [{ name: "a", ready: true, self: true }, { name: "b" }] } as Health, 0)).toBe("danger")
    expect(stateOf({ ...well, followers: [{ name: "push", behindMs: "700000" }] } as Health, 0)).toBe("danger")
  })
})
