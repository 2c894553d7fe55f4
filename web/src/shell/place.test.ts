import { describe, expect, it } from "vitest"
import { placeOf } from "./place.js"

describe("placeOf", () => {
  it("tells the room of every address", () => {
    expect(placeOf("/")).toEqual({ room: "start" })
    expect(placeOf("/c/dm:a:b")).toEqual({ room: "conversation", conversation: "dm:a:b" })
    expect(placeOf("/c/dm%3Aa%3Ab/m/17")).toEqual({ room: "conversation", conversation: "dm:a:b", focusSeq: 17 })
    expect(placeOf("/c/grp:x/details")).toEqual({ room: "conversation", conversation: "grp:x", aside: "details" })
    expect(placeOf("/c/grp:x/t/9")).toEqual({ room: "conversation", conversation: "grp:x", aside: 9 })
    expect(placeOf("/people")).toEqual({ room: "people" })
    expect(placeOf("/people/u1")).toEqual({ room: "people", user: "u1" })
    expect(placeOf("/new-group")).toEqual({ room: "newGroup" })
    expect(placeOf("/join/a-b_c")).toEqual({ room: "join", token: "a-b_c" })
    expect(placeOf("/search")).toEqual({ room: "search" })
    expect(placeOf("/settings")).toEqual({ room: "settings", page: "" })
    expect(placeOf("/settings/devices")).toEqual({ room: "settings", page: "devices" })
    expect(placeOf("/admin")).toEqual({ room: "admin", page: "" })
    expect(placeOf("/admin/users")).toEqual({ room: "admin", page: "users" })
    expect(placeOf("/admin/groups/grp%3Ax")).toEqual({ room: "admin", page: "groups", of: "grp:x" })
    expect(placeOf("/welcome")).toEqual({ room: "welcome" })
    expect(placeOf("/dev/gallery")).toEqual({ room: "gallery" })
  })
  it("knows what is none", () => {
    for (const path of ["/x", "/c", "/c/", "/c/a b", "/c/<img>", "/c/%E0%A4%A", "/c/dm:a:b/m/0", "/c/dm:a:b/m/x", "/c/dm:a:b/m/99999999999999999", "/c/a/m/1/2", "/search/x", "/join", "/admin/users/u1/x", "/dev", "//evil"]) {
      expect(placeOf(path), path).toEqual({ room: "nothing" })
    }
  })
})
