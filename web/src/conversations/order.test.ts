import { expect, it } from "vitest"
import type { Summary } from "@skein-im/client"
import { folders, ordered } from "./order.js"

function c(id: string, more: Partial<Summary> = {}): Summary {
  return {
    id, kind: id.startsWith("grp:") ? "group" : "dm", title: "", peer: "", last: undefined, lastAtMs: 0, unread: 0, unreadMentions: 0, read: 0, peerReceived: 0, peerRead: 0, low: 0, high: 0,
    head: 0, complete: true, member: true, hidden: false, markedUnread: false, ...more, mine: { revision: 0, ...more.mine },
  } as Summary
}

const ids = (all: readonly Summary[]): string => all.map((x) => x.id).join(" ")
const all = [c("dm:a"), c("grp:b", { unread: 2 }), c("dm:c", { mine: { revision: 1, pinned: true } }), c("dm:d", { hidden: true, unread: 1 }), c("grp:e", { mine: { revision: 1, folder: "Work" }, markedUnread: true })]

it("puts pinned ones first, and leaves hidden ones out", () => {
  expect(ids(ordered(all, "all"))).toBe("dm:c dm:a grp:b grp:e")
  expect(ids(ordered(all, "hidden"))).toBe("dm:d")
})

it("keeps what is being read in the list of unread ones", () => {
  expect(ids(ordered(all, "unread"))).toBe("grp:b grp:e")
  expect(ids(ordered(all, "unread", "dm:a"))).toBe("dm:a grp:b grp:e")
})

it("knows groups and folders", () => {
  expect(ids(ordered(all, "groups"))).toBe("grp:b grp:e")
  expect(ids(ordered(all, "folder:Work"))).toBe("grp:e")
  expect(folders(all)).toEqual(["Work"])
})
