import { cleanup, render, waitFor } from "@testing-library/react"
import { afterEach, expect, test } from "vitest"
import { SkeinError, type StateSnapshot, type Summary } from "@skein-im/client"
import { Access, socketOf } from "../src/embed/access.js"
import { stateOf } from "../src/embed/Conversation.js"
import { SkeinConversation, chinese, english, type ConversationState } from "../src/embed/index.js"
import { rowsOf } from "../src/embed/rows.js"
import { world } from "./world.js"

afterEach(cleanup)

test("the same component in React: a client of the page's, what was said, in a tree of its own", async () => {
  const w = await world()
  await w.client.conversation("dm:ann:bob").post("hello **there**")
  const states: ConversationState[] = []
  const shown = render(<SkeinConversation client={w.client} server="https://chat.example" conversation="dm:ann:bob" getToken={() => "t"} lang="en" heading="Ask" theme="dark" onState={(s) => states.push(s)} />)
  const root = await waitFor(() => {
    const r = shown.container.firstElementChild?.shadowRoot
    expect(r?.querySelector("article strong")?.textContent).toBe("there")
    return r!
  })
  expect(shown.container.querySelector("article")).toBeNull()
  expect(root.querySelector("section")?.getAttribute("data-theme")).toBe("dark")
  expect(root.querySelector("h2")?.textContent).toBe("Ask")
  await waitFor(() => expect(states.at(-1)).toBe("open"))
  shown.unmount()
  expect(w.client.state.getSnapshot().state).toBe("connected") // it is the page's
})

test("where another tab has another version it says to close that one, and tries again", async () => {
  const w = await world()
  for (const t of [english, chinese]) {
    let asked = 0
    const state = { state: "stopped" as const, error: new SkeinError({ code: "other_version" }) }
    const client = new Proxy(w.client, {
      get: (of, name) => name === "state" ? { getSnapshot: () => state, subscribe: () => () => undefined } : name === "reconnect" ? () => asked++ : (Reflect.get(of, name) as unknown),
    })
    const shown = render(<SkeinConversation client={client} server="https://chat.example" conversation="dm:ann:bob" getToken={() => "t"} lang={t.locale} />)
    const root = await waitFor(() => {
      const r = shown.container.firstElementChild?.shadowRoot
      expect(r?.querySelector("[role=alert] h3")?.textContent).toBe(t.otherVersion)
      return r!
    })
    expect(root.querySelector("[role=alert] p")?.textContent).toBe(t.otherVersionWhy)
    const button = root.querySelector<HTMLButtonElement>("[role=alert] button")
    expect(button?.textContent).toBe(t.again)
    button?.click()
    expect(asked).toBe(1)
    shown.unmount()
  }
})

test("how a conversation stands, by the connection, the refusal and what the server told of it", () => {
  const at = (state: StateSnapshot["state"], code = "", told: Summary | undefined = undefined): ConversationState =>
    stateOf({ state, error: code === "" ? undefined : new SkeinError({ code }) }, told, "grp:a")
  expect(at("connecting")).toBe("connecting")
  expect(at("disconnected", "token_expired")).toBe("connecting")
  expect(at("disconnected", "offline")).toBe("offline")
  expect(at("stopped", "replaced")).toBe("replaced")
  expect(at("stopped", "origin_refused")).toBe("refused")
  expect(at("stopped", "token_invalid")).toBe("expired")
  expect(at("stopped", "banned")).toBe("failed")
  expect(at("connected")).toBe("forbidden")
  expect(at("connected", "", {} as Summary)).toBe("open")
})

test("a token is kept until it is refused, and asked for once by all who need it", async () => {
  let n = 0
  const a = new Access(async () => (++n > 2 ? "" : `t${n}`))
  expect(await Promise.all([a.get(""), a.get("")])).toEqual(["t1", "t1"])
  expect(a.get("")).toBe("t1")
  expect(await a.get("t1")).toBe("t2")
  await expect(a.get("t2")).rejects.toMatchObject({ code: "token_invalid", action: "login" })
})

test("where the socket is", () => {
  expect(socketOf("https://chat.example")).toBe("wss://chat.example/ws")
  expect(socketOf("http://127.0.0.1:8080/below/")).toBe("ws://127.0.0.1:8080/below/ws")
  expect(() => socketOf("javascript:alert(1)")).toThrow()
})

test("both languages say everything, each in its own words", () => {
  const same = Object.keys(english).filter((k) => String(english[k as keyof typeof english]) === String(chinese[k as keyof typeof chinese]))
  expect(same).toEqual([])
  expect(Object.keys(chinese)).toEqual(Object.keys(english))
})

test("names stand once above what somebody says within five minutes, and a day has a line", async () => {
  const w = await world()
  const one = (await w.client.conversation("dm:ann:bob").send("a"))
  const at = (min: number, sender: string) => ({ ...one, id: `${min}`, sender, atMs: new Date(2026, 10, 1, 12, min).getTime() })
  const rows = rowsOf([at(0, "bob"), at(2, "bob"), at(9, "bob"), at(10, "ann"), { ...at(11, "ann"), kind: "event" as const }])
  expect(rows.map((r) => (r.kind === "day" ? "day" : `${r.message.id} ${r.first} ${r.last}`))).toEqual(["day", "0 true false", "2 false true", "9 true true", "10 true true"])
})
