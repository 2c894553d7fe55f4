import { useCallback, useEffect, useState } from "react"
import type { Summary } from "@skein-im/client"
import { errorFrom, useClient, useView } from "@skein-im/react"

/*
 * What was begun and not sent, of each conversation: in this browser with every key, and on all devices of the user
 * after a pause. The server's is the draft; this browser keeps what the server was not told yet, also over a reload.
 * What another device says is taken while nothing is being written here.
 */

const pauseMs = 1500
const retryMs = 10_000
/** SPEC: a draft has at most 4,096 bytes. */
const mostBytes = 4096

const keyOf = (user: string, conversation: string, thread: number): string => `skein.draft.${user}.${conversation}${thread > 0 ? `.${thread}` : ""}`

/** What the server was not told yet. */
interface Untold {
  text: string
  /** What the server may have from before: what it had when this began, and what it was told since. Not there: anything. */
  over?: readonly string[] | undefined
}

function readUntold(key: string): Untold | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "null")
    if (typeof kept !== "object" || kept === null || !("text" in kept) || typeof kept.text !== "string") return undefined
    return { text: kept.text, over: "over" in kept && Array.isArray(kept.over) ? kept.over.filter((x) => typeof x === "string") : undefined }
  } catch {
    return undefined // of an older version
  }
}

function writeUntold(key: string, untold: Untold): void {
  try {
    localStorage.setItem(key, JSON.stringify(untold))
  } catch {
    // a browser that stores nothing keeps it with the server alone
  }
}

/** Unless another tab wrote since. */
function dropUntold(key: string, untold: Untold): void {
  if (localStorage.getItem(key) === JSON.stringify(untold)) localStorage.removeItem(key)
}

/** As much of a text as fits, never half a character. */
export function fitting(text: string, most = mostBytes): string {
  if (new TextEncoder().encode(text).length <= most) return text
  let n = 0
  let out = ""
  for (const c of text) {
    n += new TextEncoder().encode(c).length
    if (n > most) break
    out += c
  }
  return out
}

/**
 * One draft. The server is told one thing at a time, the newest last; until it knows, what it says is not taken: it may
 * be an echo of what was written here before.
 */
class Keeper {
  text: string
  private untold: Untold | undefined
  /** What the server has; undefined: not known yet. */
  private remote: string | undefined
  private telling = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private shown: (text: string) => void = () => undefined

  /** `current` is what the server has, as far as it is known. Without `say` it is this browser's alone. */
  constructor(private readonly key: string, private readonly current: () => string | undefined, private readonly say: ((draft: string) => Promise<unknown>) | undefined) {
    this.untold = readUntold(key)
    this.text = this.untold?.text ?? current() ?? ""
  }

  /** Has it shown, until the answer is called: then what waits is told. */
  show(to: (text: string) => void): () => void {
    this.shown = to
    to(this.text)
    return () => {
      this.shown = () => undefined
      if (this.timer !== undefined) this.tell()
    }
  }

  private put(text: string): void {
    this.text = text
    this.shown(text)
  }

  private keep(untold: Untold | undefined): void {
    if (untold !== undefined) writeUntold(this.key, untold)
    else if (this.untold !== undefined) dropUntold(this.key, this.untold)
    this.untold = untold
  }

  /** What the server has. */
  seen(remote: string | undefined): void {
    if (remote === undefined || remote === this.remote) return // not known yet, or no more
    this.remote = remote
    if (this.telling || this.timer !== undefined) return
    const u = this.untold
    if (u === undefined) return this.put(remote)
    if (u.text === "" && u.over?.includes(remote) === false) { // another device wrote since it was sent here
      this.keep(undefined)
      return this.put(remote)
    }
    this.tell()
  }

  set(text: string): void {
    this.put(text)
    if (this.say === undefined) return this.keep(text === "" ? undefined : { text })
    const over = this.untold !== undefined ? this.untold.over : this.remote === undefined ? undefined : [this.remote]
    this.keep({ text, over })
    this.wait(pauseMs)
  }

  private wait(ms: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.tell(), ms)
  }

  tell(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const u = this.untold
    if (u === undefined || this.telling || this.say === undefined) return
    const draft = fitting(u.text)
    if (draft === this.remote) {
      if (draft === u.text) this.keep(undefined)
      return
    }
    if (draft === "" && this.remote === undefined) return // as a rule there is none: when that is known
    this.telling = true
    if (u.over?.includes(draft) === false) this.keep({ text: u.text, over: [...u.over, draft] })
    this.say(draft).then(() => {
      this.telling = false
      const now = this.current() ?? draft // an answer comes after what it changed, and maybe after what changed that
      this.remote = now
      if (this.timer !== undefined) return
      if (this.untold?.text !== draft) return this.tell() // what was written meanwhile
      this.keep(undefined)
      if (now !== draft) this.put(now)
    }, (e: unknown) => {
      this.telling = false
      const { code, retryAfterMs } = errorFrom(e)
      if (this.timer === undefined && (retryAfterMs > 0 || code === "unavailable")) this.wait(Math.max(retryAfterMs, retryMs)) // otherwise it stays in this browser
    })
  }
}

export interface Draft {
  text: string
  set: (text: string) => void
  /** It was sent. */
  clear: () => void
  /** That much of it was sent; what was written behind it stays. */
  sent: (text: string) => void
  /** It was not sent after all: it stands before what was written since. */
  restore: (text: string) => void
}

/** That of a thread stays in this browser. */
export function useDraft(conversation: string, thread: number): Draft {
  const client = useClient()
  const { summary } = client.conversation(conversation)
  const own = thread === 0
  const draftOf = (c: Summary | undefined): string | undefined => (c === undefined || !own ? undefined : c.mine.draft ?? "")
  const remote = draftOf(useView(summary))
  const [keeper] = useState(() => new Keeper(keyOf(client.user, conversation, thread), () => draftOf(summary.getSnapshot()), own ? (draft) => client.conversation(conversation).setMyState({ draft }) : undefined))
  const [text, setText] = useState(keeper.text)
  useEffect(() => keeper.show(setText), [keeper])
  useEffect(() => keeper.seen(remote), [keeper, remote])
  const set = useCallback((now: string) => keeper.set(now), [keeper])
  const clear = useCallback(() => {
    keeper.set("")
    keeper.tell()
  }, [keeper])
  const sent = useCallback((said: string) => {
    if (keeper.text.startsWith(said)) keeper.set(keeper.text.slice(said.length).trimStart())
    keeper.tell()
  }, [keeper])
  const restore = useCallback((said: string) => keeper.set(keeper.text === "" ? said : `${said}\n${keeper.text}`), [keeper])
  return { text, set, clear, sent, restore }
}
