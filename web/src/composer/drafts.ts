import { useCallback, useEffect, useRef, useState } from "react"
import { useClient, useConnection, useView } from "@skein-im/react"

/*
 * What was begun and not sent, of each conversation: in this browser with every key, and on all devices of the user
 * (SPEC §4.8) when they pause. What another device says is taken while nothing is being written here.
 */

const pauseMs = 1500
/** SPEC: a draft has at most 4,096 bytes. */
const mostBytes = 4096

const keyOf = (user: string, conversation: string, thread: number): string => `skein.draft.${user}.${conversation}${thread > 0 ? `.${thread}` : ""}`

/** Where the draft stands that was cleared here, as the server had it, until the server knows. */
const clearedOf = (key: string): string => `${key}.cleared`

function readLocal(key: string): string | undefined {
  return localStorage.getItem(key) ?? undefined
}

function writeLocal(key: string, text: string): void {
  try {
    localStorage.setItem(key, text)
  } catch {
    // a browser that stores nothing keeps it with the server alone
  }
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

export interface Draft {
  text: string
  set: (text: string) => void
  /** It was sent. */
  clear: () => void
}

/** That of a thread stays in this browser. */
export function useDraft(conversation: string, thread: number): Draft {
  const client = useClient()
  const key = keyOf(client.user, conversation, thread)
  const own = useView(client.conversation(conversation).summary)?.mine.draft ?? ""
  const remote = thread > 0 ? "" : own
  const online = useConnection().state === "connected"
  const [text, setText] = useState(() => readLocal(key) ?? (remote === readLocal(clearedOf(key)) ? "" : remote))
  /** What the server has, as far as it is known here. */
  const told = useRef(remote)
  const mine = useRef(text)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const tell = useCallback(() => {
    clearTimeout(timer.current)
    timer.current = undefined
    const now = fitting(mine.current)
    if (now === told.current || thread > 0) return
    const before = told.current
    told.current = now
    if (now === "") writeLocal(clearedOf(key), before) // this browser may be closed before the server knows
    client.conversation(conversation).setMyState({ draft: now }).then(
      () => { if (now === "") localStorage.removeItem(clearedOf(key)) },
      () => { told.current = before }, // it stays in this browser
    )
  }, [client, conversation, thread, key])

  const set = useCallback((now: string) => {
    mine.current = now
    setText(now)
    if (now === "") localStorage.removeItem(key)
    else writeLocal(key, now)
    clearTimeout(timer.current)
    timer.current = setTimeout(tell, pauseMs)
  }, [key, tell])

  const clear = useCallback(() => {
    set("")
    tell()
  }, [set, tell])

  useEffect(() => {
    if (remote === told.current) return
    const cleared = mine.current === "" && told.current === readLocal(clearedOf(key))
    const untouched = (mine.current === told.current || cleared) && timer.current === undefined
    told.current = remote
    if (!untouched || (remote !== "" && remote === readLocal(clearedOf(key)))) return
    localStorage.removeItem(clearedOf(key)) // another device said something since
    mine.current = remote
    setText(remote)
    if (remote === "") localStorage.removeItem(key)
    else writeLocal(key, remote)
  }, [remote, key])

  // What was sent while the server could not be told: it is told now, and does not come back.
  useEffect(() => {
    if (online && mine.current === "" && remote !== "" && remote === told.current && remote === readLocal(clearedOf(key))) tell()
  }, [online, remote, key, tell])

  useEffect(() => () => {
    if (timer.current !== undefined) tell()
  }, [tell])
  return { text, set, clear }
}
